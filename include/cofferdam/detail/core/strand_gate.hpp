// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/execution/blocking.hpp>
#include <asio/execution/context.hpp>
#include <asio/execution/outstanding_work.hpp>
#include <asio/execution/relationship.hpp>
#include <asio/execution_context.hpp>
#include <asio/prefer.hpp>
#include <asio/query.hpp>
#include <asio/recycling_allocator.hpp>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A strand that a thread outside the event loop can also lock, for example to destroy an environment. The lock is
/// called the gate.
///
/// Functions that are given to the strand run one at a time and in order, on the threads of the inner executor. They
/// never block a thread of the event loop: if an outside thread holds the gate, the functions are scheduled again when
/// that thread leaves the gate. An outside thread needs no running event loop. It enters the gate at once if the gate
/// is free. Otherwise it can pass a job to the thread that holds the gate, which runs the job before it leaves.
///
/// Asio's own strand cannot be used here, because it must not outlive its execution context. It also uses an entry in a
/// list of that context, and it is so large that `any_io_executor` must allocate memory for it. A strand_gate uses the
/// context only to run functions.
class strand_gate : public std::enable_shared_from_this<strand_gate> {
 public:
  /// A piece of work that the thread in the gate runs before it leaves.
  class job {
   public:
    job() = default;
    job(const job&) = delete;
    job& operator=(const job&) = delete;
    virtual ~job() = default;
    virtual void run() = 0;
  };

  explicit strand_gate(asio::any_io_executor inner);
  strand_gate(const strand_gate&) = delete;
  strand_gate& operator=(const strand_gate&) = delete;
  ~strand_gate() { waiting_.drop(); }

  // ---- for threads outside the event loop ----

  /// Enters the gate if no other thread holds it. Returns true if the call succeeded; each success needs one leave().
  bool try_enter() noexcept {
    const std::lock_guard lock(mutex_);
    return try_enter_locked();
  }

  /// Enters the gate as try_enter() does, but returns false if functions wait for their turn on the strand, unless the
  /// thread already holds the gate. So a thread that enters again and again does not delay these functions.
  bool try_enter_in_order() noexcept {
    const std::lock_guard lock(mutex_);
    if (depth_ == 0 && is_scheduled_) return false;
    return try_enter_locked();
  }

  /// Waits until no other thread holds the gate, and enters it. A thread that already holds the gate enters again
  /// without waiting. Each call needs one leave().
  void enter() {
    std::unique_lock lock(mutex_);
    left_by_all_.wait(lock, [this] { return try_enter_locked(); });
  }

  /// Enters the gate and returns true, or, if another thread holds the gate, moves the job to that thread and returns
  /// false.
  bool enter_or_hand_over(std::unique_ptr<job>& work) {
    const std::lock_guard lock(mutex_);
    if (try_enter_locked()) return true;
    jobs_.push_back(std::move(work));
    return false;
  }

  /// Leaves the gate. If this is the last leave() of the thread, it first runs the jobs that other threads passed to
  /// it.
  void leave() noexcept {
    std::unique_lock lock(mutex_);
    if (depth_ == 1) do_jobs(lock);
    if (--depth_ != 0) return;
    owner_ = std::thread::id();
    left_by_all_.notify_all();
    const bool must_schedule = std::exchange(is_stalled_, false);
    lock.unlock();
    if (must_schedule) schedule(later_);
  }

  // ---- for the strand's executor ----

  /// Returns true if the calling thread runs a function of the strand.
  bool running_in_this_thread() const noexcept {
    const std::lock_guard lock(mutex_);
    return runs_functions_ && owner_ == std::this_thread::get_id();
  }

  /// Runs a function on the strand. If `may_run_in_place` is true, runs it inside this call if the thread already runs
  /// a function of the strand, or if the thread runs the event loop and the strand is free. Otherwise schedules the
  /// function.
  template <class Function>
  void execute(Function&& function, bool may_run_in_place) {
    if (!may_run_in_place) return queue(std::forward<Function>(function), later_);
    if (running_in_this_thread()) {
      std::decay_t<Function> mine(std::forward<Function>(function));
      mine();
      return;
    }
    if (!is_in_loop()) return queue(std::forward<Function>(function), inner_);
    const std::shared_ptr<strand_gate> kept = shared_from_this();
    if (!begin_turn_in_place()) return queue(std::forward<Function>(function), later_);
    auto turn_of_one = [this, &function] {
      const turn_end at_end(*this);
      std::decay_t<Function> mine(std::forward<Function>(function));
      mine();
    };
    // The call is dispatched through the event loop, so that an exception reaches the caller of the loop's run().
    call_in_loop([](void* what) { (*static_cast<decltype(turn_of_one)*>(what))(); }, &turn_of_one);
  }

  asio::execution_context& context() const noexcept { return asio::query(inner_, asio::execution::context); }

  /// Counts outstanding work: the context of the inner executor does not run out of work until end_work() was called as
  /// often. May be called on any thread.
  void begin_work() noexcept {
    const std::lock_guard lock(mutex_);
    if (work_++ == 0 && !at_work_) at_work_ = asio::prefer(inner_, asio::execution::outstanding_work.tracked);
  }
  /// Counts more outstanding work. Must be called only between begin_work() and its end_work().
  void begin_more_work() noexcept { ++work_; }
  void end_work() noexcept {
    if (--work_ != 0) return;
    asio::any_io_executor ended;
    const std::lock_guard lock(mutex_);
    if (work_ == 0) ended = std::exchange(at_work_, asio::any_io_executor());
  }

 private:
  /// A function that waits for its turn on the strand.
  class waiting_function {
   public:
    waiting_function() = default;
    waiting_function(const waiting_function&) = delete;
    waiting_function& operator=(const waiting_function&) = delete;
    virtual void run() = 0;            // calls the function, and destroys this object before that
    virtual void drop() noexcept = 0;  // destroys this object without calling the function
    waiting_function* next = nullptr;

   protected:
    ~waiting_function() = default;
  };

  /// A waiting function of a certain type. It uses Asio's recycling allocator, as Asio's handlers do.
  template <class Function>
  class kept_function final : public waiting_function {
   public:
    template <class Given>
    static kept_function* make(Given&& function) {
      asio::recycling_allocator<kept_function> memory;
      kept_function* const place = memory.allocate(1);
      try {
        return ::new (static_cast<void*>(place)) kept_function(std::forward<Given>(function));
      } catch (...) {
        memory.deallocate(place, 1);
        throw;
      }
    }
    void run() override {
      Function mine(std::move(function_));
      drop();
      mine();
    }
    void drop() noexcept override {
      this->~kept_function();
      asio::recycling_allocator<kept_function>().deallocate(this, 1);
    }

   private:
    template <class Given>
    explicit kept_function(Given&& function) : function_(std::forward<Given>(function)) {}
    ~kept_function() = default;

    Function function_;
  };

  /// A queue of waiting functions, in the order of their arrival.
  class function_queue {
   public:
    bool empty() const noexcept { return first_ == nullptr; }
    void push(waiting_function* function) noexcept {
      (first_ == nullptr ? first_ : last_->next) = function;
      last_ = function;
    }
    waiting_function* pop() noexcept {
      waiting_function* const function = first_;
      if (function != nullptr) first_ = std::exchange(function->next, nullptr);
      return function;
    }
    /// Moves all functions of another queue in front of the functions of this queue.
    void put_first(function_queue& others) noexcept {
      if (others.empty()) return;
      if (!empty()) {
        others.last_->next = first_;
        others.last_ = last_;
      }
      *this = std::exchange(others, function_queue());
    }
    void drop() noexcept {
      while (waiting_function* const function = pop()) function->drop();
    }

   private:
    waiting_function* first_ = nullptr;
    waiting_function* last_ = nullptr;
  };

  /// A turn: the function that is given to the inner executor. It runs all functions that wait at that time. If the
  /// executor's context ends and destroys it without a call, it destroys the waiting functions.
  class turn {
   public:
    explicit turn(std::shared_ptr<strand_gate> gate) noexcept : gate_(std::move(gate)) {}
    turn(turn&&) noexcept = default;
    turn& operator=(turn&&) = delete;
    ~turn() {
      if (gate_) gate_->drop_all();
    }
    void operator()() {
      const std::shared_ptr<strand_gate> gate = std::move(gate_);
      gate->take_turn();
    }

   private:
    std::shared_ptr<strand_gate> gate_;
  };

  /// Ends a turn in its destructor, also after an exception. The functions in `ready` that have not run come first in
  /// the next turn.
  class turn_end {
   public:
    explicit turn_end(strand_gate& gate) noexcept : gate_(gate) {}
    turn_end(const turn_end&) = delete;
    turn_end& operator=(const turn_end&) = delete;
    ~turn_end() { gate_.end_turn(ready); }

    function_queue ready;

   private:
    strand_gate& gate_;
  };

  /// Returns true if the inner executor belongs to an io_context, and this thread runs that io_context.
  bool is_in_loop() const noexcept;
  /// Calls `function(what)` before this call returns, by a dispatch to the event loop. Requires that is_in_loop() is
  /// true.
  void call_in_loop(void (*function)(void*), void* what) const;

  bool try_enter_locked() noexcept {
    const std::thread::id caller = std::this_thread::get_id();
    if (depth_ != 0 && owner_ != caller) return false;
    owner_ = caller;
    ++depth_;
    return true;
  }

  void do_jobs(std::unique_lock<std::mutex>& lock) noexcept {
    while (!jobs_.empty()) {
      const std::vector<std::unique_ptr<job>> jobs = std::exchange(jobs_, {});
      lock.unlock();
      for (const std::unique_ptr<job>& each : jobs) each->run();
      lock.lock();
    }
  }

  template <class Function>
  void queue(Function&& function, const asio::any_io_executor& executor) {
    waiting_function* const waiting = kept_function<std::decay_t<Function>>::make(std::forward<Function>(function));
    {
      const std::lock_guard lock(mutex_);
      waiting_.push(waiting);
      if (std::exchange(is_scheduled_, true)) return;
      if (depth_ != 0) {  // an outside thread holds the gate, and schedules a turn when it leaves
        is_stalled_ = true;
        return;
      }
    }
    schedule(executor);
  }

  void schedule(const asio::any_io_executor& executor) { executor.execute(turn(shared_from_this())); }

  bool begin_turn_in_place() noexcept {
    const std::lock_guard lock(mutex_);
    if (depth_ != 0 || is_scheduled_) return false;
    is_scheduled_ = true;
    begin_turn_locked();
    return true;
  }

  void begin_turn_locked() noexcept {
    owner_ = std::this_thread::get_id();
    depth_ = 1;
    runs_functions_ = true;
  }

  void take_turn() {
    {
      const std::lock_guard lock(mutex_);
      if (depth_ != 0) {  // an outside thread holds the gate
        is_stalled_ = true;
        return;
      }
      begin_turn_locked();
    }
    turn_end at_end(*this);
    {
      const std::lock_guard lock(mutex_);
      at_end.ready.put_first(waiting_);
    }
    while (waiting_function* const function = at_end.ready.pop()) function->run();
  }

  void end_turn(function_queue& left) noexcept {
    std::unique_lock lock(mutex_);
    do_jobs(lock);
    waiting_.put_first(left);
    runs_functions_ = false;
    depth_ = 0;
    owner_ = std::thread::id();
    left_by_all_.notify_all();
    is_scheduled_ = !waiting_.empty();
    const bool must_schedule = is_scheduled_;
    lock.unlock();
    if (must_schedule) schedule(later_);
  }

  void drop_all() noexcept {
    function_queue dropped;
    {
      const std::lock_guard lock(mutex_);
      dropped.put_first(waiting_);
      is_scheduled_ = false;
    }
    dropped.drop();
  }

  const asio::any_io_executor inner_;
  const asio::any_io_executor later_;  // the inner executor, but never running a function inside execute()
  const bool is_loop_;                 // true if the inner executor belongs to an io_context
  mutable std::mutex mutex_;
  std::condition_variable left_by_all_;
  std::thread::id owner_;
  int depth_ = 0;
  bool runs_functions_ = false;  // true if the owner runs functions of the strand
  bool is_scheduled_ = false;    // true if a turn is scheduled or running, or will be scheduled when the gate is left
  bool is_stalled_ = false;      // true if the thread in the gate must schedule a turn when it leaves
  function_queue waiting_;
  std::vector<std::unique_ptr<job>> jobs_;
  std::atomic<std::size_t> work_ = 0;
  asio::any_io_executor at_work_;
};

/// Leaves a gate at the end of a scope.
class gate_exit {
 public:
  explicit gate_exit(strand_gate& entered) noexcept : entered_(entered) {}
  gate_exit(const gate_exit&) = delete;
  gate_exit& operator=(const gate_exit&) = delete;
  ~gate_exit() { entered_.leave(); }

 private:
  strand_gate& entered_;
};

/// The executor of a strand_gate, in the form that Asio requires of executors. It may outlive the context of the inner
/// executor, but must not be given functions after the end of that context.
class gated_executor {
 public:
  explicit gated_executor(std::shared_ptr<strand_gate> gate) noexcept : gate_(std::move(gate)) {}
  gated_executor(const gated_executor& other) noexcept
      : gate_(other.gate_), never_blocks_(other.never_blocks_), is_at_work_(other.is_at_work_) {
    if (is_at_work_) gate_->begin_more_work();
  }
  gated_executor(gated_executor&& other) noexcept
      : gate_(std::move(other.gate_)),
        never_blocks_(other.never_blocks_),
        is_at_work_(std::exchange(other.is_at_work_, false)) {}
  gated_executor& operator=(gated_executor other) noexcept {
    std::swap(gate_, other.gate_);
    std::swap(never_blocks_, other.never_blocks_);
    std::swap(is_at_work_, other.is_at_work_);
    return *this;
  }
  ~gated_executor() {
    // Without the test of gate_, g++ 12 warns that a moved-from executor uses a null pointer.
    if (gate_ && is_at_work_) gate_->end_work();
  }

  const std::shared_ptr<strand_gate>& gate() const noexcept { return gate_; }
  bool running_in_this_thread() const noexcept { return gate_->running_in_this_thread(); }

  friend bool operator==(const gated_executor& a, const gated_executor& b) noexcept { return a.gate_ == b.gate_; }
  friend bool operator!=(const gated_executor& a, const gated_executor& b) noexcept { return !(a == b); }

  gated_executor require(asio::execution::blocking_t::never_t) const noexcept { return with_blocking(true); }
  gated_executor require(asio::execution::blocking_t::possibly_t) const noexcept { return with_blocking(false); }
  gated_executor require(asio::execution::outstanding_work_t::tracked_t) const noexcept {
    gated_executor changed(*this);
    if (!std::exchange(changed.is_at_work_, true)) gate_->begin_work();
    return changed;
  }
  gated_executor require(asio::execution::outstanding_work_t::untracked_t) const noexcept {
    gated_executor changed(gate_);
    changed.never_blocks_ = never_blocks_;
    return changed;
  }
  // Asio may set this property (relationship.fork or relationship.continuation). A strand_gate ignores it.
  gated_executor require(asio::execution::relationship_t::fork_t) const noexcept { return *this; }
  gated_executor require(asio::execution::relationship_t::continuation_t) const noexcept { return *this; }

  asio::execution_context& query(asio::execution::context_t) const noexcept { return gate_->context(); }
  asio::execution::blocking_t query(asio::execution::blocking_t) const noexcept {
    if (never_blocks_) return asio::execution::blocking.never;
    return asio::execution::blocking.possibly;
  }
  asio::execution::outstanding_work_t query(asio::execution::outstanding_work_t) const noexcept {
    if (is_at_work_) return asio::execution::outstanding_work.tracked;
    return asio::execution::outstanding_work.untracked;
  }
  asio::execution::relationship_t query(asio::execution::relationship_t) const noexcept {
    return asio::execution::relationship.fork;
  }

  template <class Function>
  void execute(Function&& function) const {
    gate_->execute(std::forward<Function>(function), !never_blocks_);
  }

 private:
  gated_executor with_blocking(bool never) const noexcept {
    gated_executor changed(*this);
    changed.never_blocks_ = never;
    return changed;
  }

  std::shared_ptr<strand_gate> gate_;
  bool never_blocks_ = false;
  bool is_at_work_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
