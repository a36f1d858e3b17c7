import { hostname } from 'node:os';
import { addressBytes } from '../../../config/index.ts';
import type { Exchange } from '../../../http/index.ts';
import { VERSION } from '../../../version.ts';
import { live, ofPeer, plain, portText, seconds } from './reading.ts';
import type { Variables } from './reading.ts';

const HOSTNAME = hostname().toLowerCase();

/** No engine tells: Node does not ask the kernel. */
const UNKNOWN = (): undefined => undefined;

/** Both ends of the connection, and the machine. */
export const ofConnection: Variables = {
  remote_addr: ofPeer("The client's address.", (x) => x.remoteAddress),
  remote_port: {
    ...ofPeer("The client's port; empty where uWebSockets.js does not tell.", (x) => portText(x.remotePort)),
    live: true,
  },
  binary_remote_addr: ofPeer("The client's address in 4 or 16 bytes, each a character.", binaryAddress),
  scheme: plain('`http` or `https`.', (x) => x.port.scheme),
  https: plain('`on` over TLS.', (x) => (x.port.scheme === 'https' ? 'on' : '')),
  http2: plain('Empty: gw serves HTTP/1.1.', () => ''),
  http3: plain('Empty: gw serves HTTP/1.1.', () => ''),
  server_addr: plain('Address that the server listens on.', (x) => x.port.address),
  server_port: plain('Port that the request came in on.', (x) => portText(x.port.port)),
  server_name: plain('First name of the server that answers.', (x) => x.serverName),
  server_protocol: plain('Protocol of the request.', (x) => `HTTP/${x.httpVersion}`),
  connection: live('Serial number of the connection; with uWebSockets.js, of the request.', (x) =>
    String(x.serial),
  ),
  connection_requests: live('Requests on this connection; empty where uWebSockets.js does not tell.', (x) =>
    x.connection?.requests.toString(),
  ),
  connection_time: live(
    'Seconds that the connection is open; empty where uWebSockets.js does not tell.',
    (x) => x.connection && seconds(Date.now() - x.connection.startedMs),
  ),
  pipe: plain('`.`: no request waits in line behind another one in gw.', () => '.'),
  tcpinfo_rtt: plain('Empty: not known.', UNKNOWN),
  tcpinfo_rttvar: plain('Empty: not known.', UNKNOWN),
  tcpinfo_snd_cwnd: plain('Empty: not known.', UNKNOWN),
  tcpinfo_rcv_space: plain('Empty: not known.', UNKNOWN),
  hostname: plain('Name of this machine.', () => HOSTNAME),
  pid: live('Id of the process.', () => String(process.pid)),
  nginx_version: plain("gw's own version.", () => VERSION),
};

/** A client of a Unix socket has none: its address stands for it (nginx). */
function binaryAddress({ remoteAddress }: Exchange): string {
  const bytes = addressBytes(remoteAddress);
  return bytes ? String.fromCharCode(...bytes) : remoteAddress;
}
