import { type ArgReader, type Context, readers, type Rows } from '../../../config/index.ts';
import type { CoreConfig } from '../../../contract/index.ts';

const { flag, integer, size, text, time } = readers;
const M: readonly Context[] = ['main'];
const E: readonly Context[] = ['events'];
const H: readonly Context[] = ['http'];
const HS: readonly Context[] = ['http', 'server'];
const SL: readonly Context[] = ['server', 'location'];
const HSL: readonly Context[] = ['http', 'server', 'location'];

interface Group {
  readonly contexts: readonly Context[];
  readonly args: ArgReader<unknown>;
  /** The reason why the directive can be accepted without an effect. */
  readonly why: string;
  readonly many?: true;
  /** Separated by blanks. */
  readonly names: string;
}

const INTERNALS = "it tunes nginx's internals";
const NO_HTTP_3 = 'gw serves HTTP/1.1 and HTTP/2';
const NO_PUSH = 'server push is obsolete in nginx, and no browser uses it';

const some = (syntax: string, min: number, max: number): ArgReader<readonly string[]> => ({
  ...readers.texts,
  syntax,
  min,
  max,
});
const numberAndSize: ArgReader<unknown> = readers.words(
  { syntax: 'number size', min: 2, max: 2 },
  (words, scope) => {
    const [count = [], length = []] = words.map((word) => [word]);
    return [integer().read(count, scope), size.read(length, scope)];
  },
);

/** Refuses 0, which is set to keep memory off the disk: gw cannot forbid core files. */
const coreLimit: ArgReader<number> = {
  ...size,
  read(words, scope) {
    const bytes = size.read(words, scope);
    if (bytes !== 0) return bytes;
    const hint = 'set it for the process: LimitCORE=0 of systemd, or ulimit -c 0';
    scope.report.emerg(`"${scope.directive}" cannot forbid core files`, scope.span, hint);
    return undefined;
  },
};

/** Directives that appear in a working nginx.conf and have no meaning here; their arguments are still checked. */
const GROUPS: readonly Group[] = [
  { contexts: M, args: text, why: 'the modules of gw are built in', many: true, names: 'load_module' },
  { contexts: M, args: flag, why: INTERNALS, names: 'pcre_jit' },
  { contexts: M, args: flag, why: NO_HTTP_3, names: 'quic_bpf' },
  { contexts: M, args: text, why: 'workers need no lock to accept connections', names: 'lock_file' },
  {
    contexts: M,
    args: text,
    why: 'gw stays in the directory where it is started',
    names: 'working_directory',
  },
  { contexts: M, args: text, why: 'it is for debugging nginx itself', names: 'debug_points' },
  {
    contexts: M,
    args: text,
    why: 'OpenSSL works without engines here; a key that only an engine has is refused',
    names: 'ssl_engine',
  },
  {
    contexts: M,
    args: text,
    why: 'the priority of the process is inherited: Nice= of systemd, or nice',
    names: 'worker_priority',
  },
  {
    contexts: M,
    args: coreLimit,
    why: 'the limit of the process is inherited: LimitCORE= of systemd, or ulimit -c',
    names: 'worker_rlimit_core',
  },
  { contexts: M, args: time, why: INTERNALS, names: 'timer_resolution' },
  {
    contexts: M,
    args: some('auto [mask] | mask ...', 1, Infinity),
    why: 'the kernel chooses the cores of threads: CPUAffinity= of systemd, or taskset',
    names: 'worker_cpu_affinity',
  },
  {
    contexts: M,
    args: some('name threads=number [max_queue=number]', 2, 3),
    why: 'files are read by the threads of Node.js',
    many: true,
    names: 'thread_pool',
  },
  { contexts: E, args: integer(), why: INTERNALS, names: 'epoll_events worker_aio_requests' },
  { contexts: E, args: flag, why: INTERNALS, names: 'multi_accept accept_mutex' },
  { contexts: E, args: text, why: INTERNALS, names: 'use' },
  { contexts: E, args: time, why: INTERNALS, names: 'accept_mutex_delay' },
  {
    contexts: E,
    args: text,
    why: 'the level of "error_log" counts for all clients',
    many: true,
    names: 'debug_connection',
  },
  {
    contexts: HSL,
    args: flag,
    why: INTERNALS,
    names: `sendfile tcp_nopush tcp_nodelay aio_write open_file_cache_events gzip_no_buffer
      ssi_ignore_recycled_buffers`,
  },
  {
    contexts: HSL,
    args: size,
    why: INTERNALS,
    names: `sendfile_max_chunk postpone_output directio_alignment read_ahead send_lowat proxy_temp_file_write_size
      proxy_send_lowat fastcgi_send_lowat fastcgi_temp_file_write_size uwsgi_temp_file_write_size
      scgi_temp_file_write_size proxy_socket_rcvbuf proxy_socket_sndbuf gzip_window gzip_hash postpone_gzipping
      ssi_min_file_chunk`,
  },
  {
    contexts: HSL,
    args: flag,
    why: 'a body is held in memory as one buffer',
    names: 'client_body_in_single_buffer',
  },
  {
    contexts: HSL,
    args: numberAndSize,
    why: INTERNALS,
    names: 'output_buffers gzip_buffers gunzip_buffers',
  },
  { contexts: HSL, args: text, why: INTERNALS, names: 'aio directio' },
  {
    contexts: HSL,
    args: time,
    why: 'idle connections may be closed as soon as gw stops or has no connection left',
    names: 'keepalive_min_timeout',
  },
  {
    contexts: HSL,
    args: integer(),
    why: INTERNALS,
    names: `types_hash_max_size types_hash_bucket_size proxy_headers_hash_max_size
      proxy_headers_hash_bucket_size`,
  },
  {
    contexts: HSL,
    args: some('path [level [level [level]]]', 1, 4),
    why: 'responses are never written to a temporary file',
    names: 'proxy_temp_path fastcgi_temp_path uwsgi_temp_path scgi_temp_path',
  },
  { contexts: HS, args: size, why: INTERNALS, names: 'connection_pool_size request_pool_size' },
  { contexts: HS, args: flag, why: INTERNALS, names: 'client_body_early_read' },
  {
    contexts: SL,
    args: integer(),
    why: INTERNALS,
    names: 'referer_hash_max_size referer_hash_bucket_size',
  },
  {
    contexts: H,
    args: integer(),
    why: INTERNALS,
    names: `variables_hash_max_size variables_hash_bucket_size server_names_hash_max_size
      server_names_hash_bucket_size map_hash_max_size map_hash_bucket_size`,
  },
  { contexts: HS, args: flag, why: NO_HTTP_3, names: 'http3 http3_hq quic_retry quic_gso' },
  {
    contexts: HS,
    args: integer(),
    why: NO_HTTP_3,
    names: 'http3_max_concurrent_streams quic_active_connection_id_limit',
  },
  {
    contexts: HS,
    args: size,
    why: NO_HTTP_3,
    names: 'http3_stream_buffer_size',
  },
  { contexts: HS, args: text, why: NO_HTTP_3, names: 'quic_host_key' },
  { contexts: HS, args: integer(), why: INTERNALS, names: 'http2_streams_index_size' },
  { contexts: HS, args: size, why: INTERNALS, names: 'http2_recv_buffer_size http2_pool_size' },
  { contexts: HSL, args: size, why: INTERNALS, names: 'http2_chunk_size' },
  {
    contexts: HS,
    args: integer(),
    why: 'obsolete in nginx: use "keepalive_requests"',
    names: 'http2_max_requests',
  },
  {
    contexts: HS,
    args: size,
    why: 'obsolete in nginx: use "large_client_header_buffers"',
    names: 'http2_max_field_size http2_max_header_size',
  },
  {
    contexts: HS,
    args: time,
    why: 'obsolete in nginx: use "keepalive_timeout"',
    names: 'http2_idle_timeout',
  },
  {
    contexts: HS,
    args: time,
    why: 'obsolete in nginx: use "client_header_timeout"',
    names: 'http2_recv_timeout',
  },
  { contexts: HS, args: integer(), why: NO_PUSH, names: 'http2_max_concurrent_pushes' },
  { contexts: HSL, args: text, why: NO_PUSH, many: true, names: 'http2_push' },
  { contexts: HSL, args: flag, why: NO_PUSH, names: 'http2_push_preload' },
];

/** Returns the rows of the directives that are accepted for compatibility. */
export const ACCEPTED: Rows<CoreConfig> = Object.fromEntries(
  GROUPS.flatMap(({ names, contexts, args, why, many }) =>
    names.split(/\s+/).map((name) => [
      name,
      {
        contexts,
        args,
        accepted: why,
        ...(many && { many }),
        summary: `Accepted, without effect: ${why}.`,
        source: 'nginx',
      },
    ]),
  ),
);
