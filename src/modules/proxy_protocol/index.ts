import { moduleFor } from '../../contract/index.ts';
import type { VariableDefinition } from '../../contract/index.ts';
import type { ProxyProtocolFacts } from '../../http/index.ts';

/** What stands in the field `ssl` before further fields: a byte of flags and the result of the check. */
const SSL_HEAD_BYTES = 5;

/** Type-length-value fields by nginx's names (nginx ngx_proxy_protocol.c). */
const TLV_TYPES: Readonly<Record<string, number>> = {
  alpn: 0x01,
  authority: 0x02,
  unique_id: 0x05,
  ssl: 0x20,
  netns: 0x30,
};

/** Those inside the field `ssl`. */
const SSL_TLV_TYPES: Readonly<Record<string, number>> = {
  ssl_version: 0x21,
  ssl_cn: 0x22,
  ssl_cipher: 0x23,
  ssl_sig_alg: 0x24,
  ssl_key_alg: 0x25,
};

type Read = (facts: ProxyProtocolFacts) => string | undefined;

const definition = (summary: string, read: Read): VariableDefinition => ({
  summary,
  compile: () => (x) => {
    const facts = x.main.connection?.proxyProtocol;
    return facts && read(facts);
  },
});

const portText = (port: number): string => (port === 0 ? '' : String(port));

/** What a load balancer tells of a connection by the PROXY protocol (`listen … proxy_protocol`). */
export const proxyProtocol = moduleFor<Record<never, never>>()({
  name: 'proxy_protocol',
  directives: {},
  enabled: () => false,
  variables: {
    proxy_protocol_addr: definition(
      'Address of the client, by the PROXY protocol.',
      ({ address }) => address,
    ),
    proxy_protocol_port: definition('Port of the client, by the PROXY protocol.', ({ port }) =>
      portText(port),
    ),
    proxy_protocol_server_addr: definition(
      'Address that the client connected to, by the PROXY protocol.',
      ({ serverAddress }) => serverAddress,
    ),
    proxy_protocol_server_port: definition(
      'Port that the client connected to, by the PROXY protocol.',
      ({ serverPort }) => portText(serverPort),
    ),
  },
  families: {
    proxy_protocol_tlv_: {
      summary:
        'A field of the PROXY protocol, version 2: by name (alpn, authority, unique_id, ssl_version …) or 0x and its type.',
      compile: (name) => {
        const read = readTlv(name);
        return (x) => {
          const facts = x.main.connection?.proxyProtocol;
          return facts && read(facts);
        };
      },
    },
  },
  compile: () => ({}),
});

function readTlv(name: string): Read {
  const type = TLV_TYPES[name] ?? typeOf(name);
  if (type !== undefined) return ({ tlvs }) => tlvs.find((tlv) => tlv.type === type)?.value;
  const inner = SSL_TLV_TYPES[name];
  return ({ tlvs }) => {
    const ssl = tlvs.find((tlv) => tlv.type === TLV_TYPES['ssl'])?.value;
    if (ssl === undefined) return undefined;
    return name === 'ssl_verify' ? verifyOf(ssl) : tlvOf(ssl.slice(SSL_HEAD_BYTES), inner);
  };
}

/** `0x20`. */
function typeOf(name: string): number | undefined {
  return /^0x[0-9a-f]{1,2}$/.test(name) ? Number(name) : undefined;
}

/** The result of the balancer's own check of the client's certificate, 0 when it was good. */
function verifyOf(ssl: string): string | undefined {
  if (ssl.length < SSL_HEAD_BYTES) return undefined;
  return String(Buffer.from(ssl, 'latin1').readUInt32BE(1));
}

/** The field of a type in text of one character per byte: type, two bytes of length, value. */
function tlvOf(text: string, type: number | undefined): string | undefined {
  for (let at = 0; at + 3 <= text.length;) {
    const length = text.charCodeAt(at + 1) * 256 + text.charCodeAt(at + 2);
    if (text.charCodeAt(at) === type) return text.slice(at + 3, at + 3 + length);
    at += 3 + length;
  }
  return undefined;
}
