// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Reads https://HOST/hello of each host in the arguments through the proxy in HTTPS_PROXY, and prints the answers. The
// function fetch uses the proxy's variables since Node.js 24; for an older one, this program speaks with the proxy.
import http from 'node:http'
import tls from 'node:tls'

const proxy = new URL(process.env.HTTPS_PROXY)
for (const host of process.argv.slice(2)) {
  if (Number(process.versions.node.split('.')[0]) >= 24) {
    console.log(await (await fetch(`https://${host}/hello`)).text())
    continue
  }
  const path = `${host}:443`
  const headers = { host: path }
  if (proxy.username) headers['proxy-authorization'] = 'Basic ' + btoa(`${proxy.username}:${proxy.password}`)
  const request = http.request({ host: proxy.hostname, port: proxy.port, method: 'CONNECT', path, headers })
  request.on('connect', (answer, socket) => {
    if (answer.statusCode !== 200) throw new Error(`the proxy answers ${answer.statusCode} ${answer.statusMessage}`)
    const stream = tls.connect({ socket, servername: host })
    stream.on('data', (piece) => process.stdout.write(piece))
    stream.write(`GET /hello HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
  })
  request.end()
}
