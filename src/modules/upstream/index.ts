import type { Word } from '../../../grammar/index.ts';
import { directivesFor, readers } from '../../config/index.ts';
import type { ArgReader } from '../../config/index.ts';
import { moduleFor } from '../../contract/index.ts';
import type { UpstreamConfig } from '../../contract/index.ts';
import type { PeerConfig } from '../../upstream/index.ts';

const peer: ArgReader<PeerConfig> = readers.words(
  { syntax: 'address', min: 1, max: Infinity },
  (words, { report }) => {
    const [address, ...parameters] = words as [Word, ...Word[]];
    const [unsupported] = parameters;
    if (unsupported) {
      report.emerg(
        `parameter "${unsupported.value}" of an upstream server is not supported`,
        unsupported.span,
      );
      return undefined;
    }
    if (/^unix:./.test(address.value)) return { address: address.value };
    const [, port] = /^(?:\[[0-9a-f:.]+\]|[^:[\]/\s]+):(\d{1,5})$/i.exec(address.value) ?? [];
    if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535)) {
      report.emerg(`invalid port in upstream "${address.value}"`, address.span);
      return undefined;
    }
    if (port !== undefined) return { address: address.value };
    report.emerg(
      `invalid address "${address.value}" of an upstream server`,
      address.span,
      'expected host:port or unix:/path',
    );
    return undefined;
  },
);

const directives = directivesFor<UpstreamConfig>()({
  upstream: {
    contexts: ['http'],
    args: readers.text,
    opens: 'upstream',
    many: true,
    summary: 'Names a group of servers.',
    source: 'nginx ngx_http_upstream_module#upstream',
  },
  'server (upstream)': {
    contexts: ['upstream'],
    args: peer,
    into: 'peers',
    repeat: 'append',
    inherit: false,
    summary: 'A server of the group.',
    source: 'nginx ngx_http_upstream_module#server',
  },
});

/** Named groups of servers; what talks to them lives in other modules. */
export const upstream = moduleFor<UpstreamConfig>()({ name: 'upstream', directives, compile: () => ({}) });
