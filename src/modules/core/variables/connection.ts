import { hostname } from 'node:os';
import { wholeAddressBytes } from '../../../config/index.ts';
import {
  DATE_FORMAT,
  elapsedMs,
  type Exchange,
  type Getter,
  type ProxyProtocolFacts,
} from '../../../http/index.ts';
import { dateGmt, dateLocal, timeIso8601, timeLocal } from '../../../log/index.ts';
import { NGINX_VERSION, VERSION } from '../../../version.ts';
import { type Families, live, ofPeer, plain, portText, seconds, type Variables } from './reading.ts';

const HOSTNAME = hostname().toLowerCase();

/** Variables without a value: no engine reads them from the kernel. */
const UNKNOWN = (): undefined => undefined;

/** Variables about the connection and the machine. */
export const ofConnection: Variables = {
  remote_addr: ofPeer("The client's address.", (x) => x.remoteAddress),
  remote_port: {
    ...ofPeer("The client's port; empty where uWebSockets.js does not tell.", (x) => portText(x.remotePort)),
    live: true,
  },
  binary_remote_addr: ofPeer("The client's address in 4 or 16 bytes, each a character.", binaryAddress),
  scheme: plain('`http` or `https`.', (x) => x.request.port.scheme),
  https: plain('`on` over TLS.', (x) => (x.request.port.scheme === 'https' ? 'on' : '')),
  http2: plain('`h2`: HTTP/2 over TLS; `h2c`: without TLS; else empty.', ({ request }) =>
    request.httpVersion !== '2.0' ? '' : request.port.scheme === 'https' ? 'h2' : 'h2c',
  ),
  http3: plain('Empty: gw does not serve HTTP/3.', () => ''),
  server_addr: plain('Address that the server listens on.', (x) => x.request.port.address),
  server_port: plain('Port that the request came in on.', (x) => portText(x.request.port.port)),
  server_name: plain('First name of the server that processes the request.', (x) => x.serverName),
  server_protocol: plain('Protocol of the request.', (x) => `HTTP/${x.request.httpVersion}`),
  connection: live('Serial number of the connection; with uWebSockets.js, of the request.', (x) =>
    String(x.request.serial),
  ),
  connection_requests: live('Requests on this connection; empty where uWebSockets.js does not tell.', (x) =>
    x.request.connection?.requests.toString(),
  ),
  connection_time: live(
    'Seconds since the connection was opened; empty on uWebSockets.js.',
    (x) => x.request.connection && seconds(Date.now() - x.request.connection.startedMs),
  ),
  pipe: live('`p` if the request was there already when the one before it had ended, else `.`.', (x) =>
    x.request.connection?.isPipelined ? 'p' : '.',
  ),
  tcpinfo_rtt: plain('Empty: not known.', UNKNOWN),
  tcpinfo_rttvar: plain('Empty: not known.', UNKNOWN),
  tcpinfo_snd_cwnd: plain('Empty: not known.', UNKNOWN),
  tcpinfo_rcv_space: plain('Empty: not known.', UNKNOWN),
  hostname: plain('Name of this machine.', () => HOSTNAME),
  pid: live('Id of the process.', () => String(process.pid)),
  nginx_version: plain(
    'The version of nginx whose behaviour gw has; programs look at it.',
    () => NGINX_VERSION,
  ),
  gw_version: plain("gw's own version.", () => VERSION),
};

/** Returns the address as bytes. A client of a Unix socket has the text `unix:`, as in nginx. */
function binaryAddress({ remoteAddress }: Exchange): string {
  const bytes = wholeAddressBytes(remoteAddress);
  return bytes ? String.fromCharCode(...bytes) : remoteAddress;
}

/** Types of PROXY protocol version 2 fields by name (nginx ngx_http_core_module#var_proxy_protocol_tlv_). */
const FIELDS: Readonly<Record<string, number>> = {
  alpn: 1,
  authority: 2,
  unique_id: 5,
  ssl: 0x20,
  netns: 0x30,
};
/** Types of the fields that are nested in the field `ssl`, after its first five bytes. */
const TLS_FIELDS: Readonly<Record<string, number>> = {
  ssl_version: 0x21,
  ssl_cn: 0x22,
  ssl_cipher: 0x23,
  ssl_sig_alg: 0x24,
  ssl_key_alg: 0x25,
};

const ofProxy = (summary: string, read: (proxy: ProxyProtocolFacts) => string | number): Variables[string] =>
  plain(summary, (x) => {
    const proxy = x.request.connection?.proxyProtocol;
    return proxy && (String(read(proxy) || '') || undefined);
  });

/** Variables about the PROXY protocol; empty on uWebSockets.js. */
export const ofProxyProtocol: Variables = {
  proxy_protocol_addr: ofProxy("The client's address by the PROXY protocol.", ({ address }) => address),
  proxy_protocol_port: ofProxy("The client's port by the PROXY protocol.", ({ port }) => port),
  proxy_protocol_server_addr: ofProxy(
    'The address that the client connected to, by the PROXY protocol.',
    ({ serverAddress }) => serverAddress,
  ),
  proxy_protocol_server_port: ofProxy(
    'The port that the client connected to, by the PROXY protocol.',
    ({ serverPort }) => serverPort,
  ),
};

/** `$proxy_protocol_tlv_alpn`, `$proxy_protocol_tlv_0xea`, `$proxy_protocol_tlv_ssl_0x22`. */
export const proxyProtocolFamilies: Families = {
  proxy_protocol_tlv_: {
    summary: 'A field of the PROXY protocol by its name or number.',
    compile: compileField,
  },
};

function compileField(name: string): Getter {
  if (name === 'ssl_verify') return readVerify;
  const inner = TLS_FIELDS[name] ?? numbered(name);
  const type = inner === undefined ? (FIELDS[name] ?? Number(name)) : FIELDS['ssl'];
  return (x) => {
    const value = x.request.connection?.proxyProtocol?.tlvs.find((field) => field.type === type)?.value;
    return value === undefined || inner === undefined ? value : innerField(value, inner);
  };
}

/** Returns the type in a name such as `ssl_0x22`, which means `ssl_cn`. */
function numbered(name: string): number | undefined {
  return /^ssl_0x[\da-f]{1,2}$/.test(name) ? Number(name.slice('ssl_'.length)) : undefined;
}

/** Returns the result of verifying the client's certificate: four bytes after a byte of flags, 0 on success. */
const readVerify: Getter = (x) => {
  const value =
    x.request.connection?.proxyProtocol?.tlvs.find(({ type }) => type === FIELDS['ssl'])?.value ?? '';
  return value.length < 5 ? undefined : String(Buffer.from(value, 'latin1').readUInt32BE(1));
};

function innerField(bytes: string, type: number): string | undefined {
  for (let at = 5; at + 3 <= bytes.length;) {
    const end = at + 3 + bytes.charCodeAt(at + 1) * 256 + bytes.charCodeAt(at + 2);
    if (bytes.charCodeAt(at) === type) return bytes.slice(at + 3, end);
    at = end;
  }
  return undefined;
}

/** Variables about the time. */
export const ofClock: Variables = {
  request_time: live('Seconds since the request came, with milliseconds.', (x) =>
    seconds(Math.trunc(elapsedMs(x))),
  ),
  msec: live('Time in seconds with milliseconds.', () => seconds(Date.now())),
  time_local: live('Time in the common log format.', () => timeLocal(Date.now())),
  time_iso8601: live('Time in ISO 8601.', () => timeIso8601(Date.now())),
  date_local: live('Time in words, in the time zone of this machine; SSI pages choose the format.', (x) =>
    (x.state(DATE_FORMAT)?.local ?? dateLocal)(Date.now()),
  ),
  date_gmt: live('Time in words, in GMT; SSI pages choose the format.', (x) =>
    (x.state(DATE_FORMAT)?.gmt ?? dateGmt)(Date.now()),
  ),
};
