import type { CoreConfig } from '../../contract/index.ts';
import { readers } from '../../config/index.ts';
import type { ArgReader, Context, Rows } from '../../config/index.ts';

const { flag, integer, size, texts, time } = readers;
const HSL: readonly Context[] = ['http', 'server', 'location'];
const HS: readonly Context[] = ['http', 'server'];

interface Tuning {
  readonly contexts: readonly Context[];
  readonly args: ArgReader<unknown>;
  readonly why?: string;
}

const INTERNALS = "it tunes nginx's internals";

/** Directives that a working nginx.conf carries and that have no meaning here; their words are still checked. */
const TUNING: Readonly<Record<string, Tuning>> = {
  user: { contexts: ['main'], args: texts, why: 'gw keeps the user it was started as' },
  worker_connections: { contexts: ['events'], args: integer() },
  multi_accept: { contexts: ['events'], args: flag },
  use: { contexts: ['events'], args: texts },
  accept_mutex: { contexts: ['events'], args: flag },
  accept_mutex_delay: { contexts: ['events'], args: time },
  worker_rlimit_nofile: { contexts: ['main'], args: integer(), why: 'the limit of the process is inherited' },
  worker_cpu_affinity: { contexts: ['main'], args: texts },
  worker_priority: { contexts: ['main'], args: texts },
  timer_resolution: { contexts: ['main'], args: time },
  pcre_jit: { contexts: ['main'], args: flag },
  sendfile: { contexts: HSL, args: flag },
  sendfile_max_chunk: { contexts: HSL, args: size },
  tcp_nopush: { contexts: HSL, args: flag },
  tcp_nodelay: { contexts: HSL, args: flag },
  reset_timedout_connection: { contexts: HSL, args: flag },
  output_buffers: { contexts: HSL, args: texts },
  postpone_output: { contexts: HSL, args: size },
  client_header_buffer_size: { contexts: HS, args: size },
  client_body_buffer_size: {
    contexts: HSL,
    args: size,
    why: 'bodies are held in memory up to client_max_body_size',
  },
  connection_pool_size: { contexts: HS, args: size },
  request_pool_size: { contexts: HS, args: size },
  types_hash_max_size: { contexts: HSL, args: integer() },
  types_hash_bucket_size: { contexts: HSL, args: integer() },
  variables_hash_max_size: { contexts: ['http'], args: integer() },
  variables_hash_bucket_size: { contexts: ['http'], args: integer() },
  server_names_hash_max_size: { contexts: ['http'], args: integer() },
  server_names_hash_bucket_size: { contexts: ['http'], args: integer() },
};

/** Rows of the directives that are accepted for compatibility. */
export const ACCEPTED: Rows<CoreConfig> = Object.fromEntries(
  Object.entries(TUNING).map(([name, { contexts, args, why = INTERNALS }]) => [
    name,
    {
      contexts,
      args,
      accepted: why,
      summary: `Accepted, without effect: ${why}.`,
      source: 'nginx',
    },
  ]),
);
