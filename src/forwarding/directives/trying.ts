import { directivesFor, readers } from '../../config/index.ts';
import { NEXT_CONDITIONS, type TryingConfig } from '../config.ts';
import { localAddress } from './readers.ts';

const { flag, integer, size, time } = readers;
const HSL = ['http', 'server', 'location'] as const;
const source = 'nginx';

/** The rows about connections to upstreams, without the prefix of their protocol. */
export const tryingRows = directivesFor<TryingConfig>()({
  connect_timeout: {
    contexts: HSL,
    args: time,
    into: 'connectTimeoutMs',
    default: 60_000,
    defaultText: '60s',
    summary: 'Timeout for connecting to an upstream.',
    source,
  },
  send_timeout: {
    contexts: HSL,
    args: time,
    into: 'sendTimeoutMs',
    default: 60_000,
    defaultText: '60s',
    summary: 'Timeout between two successive writes to the upstream.',
    source,
  },
  read_timeout: {
    contexts: HSL,
    args: time,
    into: 'readTimeoutMs',
    default: 60_000,
    defaultText: '60s',
    summary: 'Timeout between two successive reads from the upstream.',
    source,
  },
  next_upstream: {
    contexts: HSL,
    args: readers.someOf(NEXT_CONDITIONS),
    into: 'nextUpstream',
    repeat: 'append',
    defaultText: 'error timeout',
    summary: 'In which cases the request is passed to the next server of the group.',
    source,
  },
  next_upstream_tries: {
    contexts: HSL,
    args: integer(),
    into: 'nextUpstreamTries',
    default: 0,
    summary: 'How many servers a request may be sent to; 0: all servers of the group.',
    source,
  },
  next_upstream_timeout: {
    contexts: HSL,
    args: time,
    into: 'nextUpstreamTimeoutMs',
    default: 0,
    defaultText: '0',
    summary: 'How long a request may be passed to further servers; 0: no limit.',
    source,
  },
  bind: {
    contexts: HSL,
    args: localAddress,
    into: 'bind',
    summary: 'Local address of connections to the upstream.',
    source,
  },
  socket_keepalive: {
    contexts: HSL,
    args: flag,
    into: 'socketKeepalive',
    default: false,
    summary: 'Whether connections to the upstream use TCP keepalive.',
    source,
  },
  buffer_size: {
    contexts: HSL,
    args: size,
    into: 'bufferSizeBytes',
    default: 4096,
    defaultText: '4k',
    summary: "Maximum size of the head of an upstream's response.",
    source,
  },
});
