import type { Getter, ProxyProtocolFacts } from '../../../http/index.ts';
import { plain } from './reading.ts';
import type { Families, Variables } from './reading.ts';

/** Fields of the PROXY protocol, version 2, by name (nginx ngx_http_core_module#var_proxy_protocol_tlv_). */
const FIELDS: Readonly<Record<string, number>> = {
  alpn: 1,
  authority: 2,
  unique_id: 5,
  ssl: 0x20,
  netns: 0x30,
};
/** Those inside of the field `ssl`, behind five bytes. */
const TLS_FIELDS: Readonly<Record<string, number>> = {
  ssl_version: 0x21,
  ssl_cn: 0x22,
  ssl_cipher: 0x23,
  ssl_sig_alg: 0x24,
  ssl_key_alg: 0x25,
};

const ofProxy = (summary: string, read: (proxy: ProxyProtocolFacts) => string | number): Variables[string] =>
  plain(summary, (x) => {
    const proxy = x.connection?.proxyProtocol;
    return proxy && (String(read(proxy) || '') || undefined);
  });

/** What a proxy in front told of the connection; empty on uWebSockets.js. */
export const ofProxyProtocol: Variables = {
  proxy_protocol_addr: ofProxy("The client's address by the PROXY protocol.", ({ address }) => address),
  proxy_protocol_port: ofProxy("The client's port by the PROXY protocol.", ({ port }) => port),
  proxy_protocol_server_addr: ofProxy(
    'The address that the client came to by the PROXY protocol.',
    ({ serverAddress }) => serverAddress,
  ),
  proxy_protocol_server_port: ofProxy(
    'The port that the client came to by the PROXY protocol.',
    ({ serverPort }) => serverPort,
  ),
};

/** `$proxy_protocol_tlv_alpn`, `$proxy_protocol_tlv_0xea`. */
export const proxyProtocolFamilies: Families = {
  proxy_protocol_tlv_: {
    summary: 'A field of the PROXY protocol by its name or number.',
    compile: compileField,
  },
};

function compileField(name: string): Getter {
  if (name === 'ssl_verify') return readVerify;
  const inner = TLS_FIELDS[name];
  const type = inner === undefined ? (FIELDS[name] ?? Number(name)) : FIELDS['ssl'];
  return (x) => {
    const value = x.connection?.proxyProtocol?.tlvs.find((field) => field.type === type)?.value;
    return value === undefined || inner === undefined ? value : innerField(value, inner);
  };
}

/** What came of the check of the client's certificate: behind a byte of flags, four of a number that is 0 when it was good. */
const readVerify: Getter = (x) => {
  const value = x.connection?.proxyProtocol?.tlvs.find(({ type }) => type === FIELDS['ssl'])?.value ?? '';
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
