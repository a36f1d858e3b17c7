import { expect, test } from 'vitest';
import { Registry } from '../../src/config/index.ts';
import { MODULES } from '../../src/modules/index.ts';

/*
 * What is accepted without effect, written out: whoever adds a name has looked at what it does in nginx. What grants, denies or
 * limits something is carried out, or refused with what to do instead.
 */
const registry = new Registry(MODULES);

/** Directives that tune how nginx works, or what gw does not have at all. */
const DIRECTIVES = `
  load_module lock_file debug_points working_directory ssl_engine pcre_jit timer_resolution thread_pool
  worker_rlimit_core worker_priority worker_cpu_affinity worker_aio_requests epoll_events multi_accept accept_mutex
  accept_mutex_delay use debug_connection
  sendfile sendfile_max_chunk tcp_nopush tcp_nodelay aio aio_write directio directio_alignment read_ahead send_lowat postpone_output
  output_buffers connection_pool_size request_pool_size client_body_in_single_buffer client_body_early_read keepalive_min_timeout
  open_file_cache_events types_hash_max_size types_hash_bucket_size variables_hash_max_size variables_hash_bucket_size
  server_names_hash_max_size server_names_hash_bucket_size map_hash_max_size map_hash_bucket_size referer_hash_max_size
  referer_hash_bucket_size proxy_headers_hash_max_size proxy_headers_hash_bucket_size
  gzip_no_buffer gzip_buffers gzip_window gzip_hash postpone_gzipping gunzip_buffers brotli_buffers ssi_min_file_chunk
  ssi_ignore_recycled_buffers
  proxy_temp_path proxy_temp_file_write_size proxy_send_lowat proxy_socket_rcvbuf proxy_socket_sndbuf
  fastcgi_temp_path fastcgi_temp_file_write_size fastcgi_send_lowat uwsgi_temp_path uwsgi_temp_file_write_size
  scgi_temp_path scgi_temp_file_write_size
  http2_streams_index_size http2_recv_buffer_size http2_pool_size http2_chunk_size http2_max_requests http2_max_field_size
  http2_max_header_size http2_idle_timeout http2_recv_timeout http2_max_concurrent_pushes http2_push http2_push_preload
  http3 http3_hq http3_max_concurrent_streams http3_stream_buffer_size quic_bpf quic_retry quic_gso quic_active_connection_id_limit
  quic_host_key
  oidc_allow_insecure_http
  ssl_early_data ssl_buffer_size ssl_certificate_compression`;

const SOCKETS =
  'reuseport deferred bind multipath backlog= rcvbuf= sndbuf= fastopen= accept_filter= so_keepalive=';
const PURGER = 'purger= purger_files= purger_sleep= purger_threshold=';
const PARAMETERS: Readonly<Record<string, string>> = {
  listen: SOCKETS,
  ssl_conf_command: 'ktls',
  proxy_cache_path: PURGER,
  fastcgi_cache_path: PURGER,
  uwsgi_cache_path: PURGER,
  scgi_cache_path: PURGER,
};

const wordsOf = (text: string): readonly string[] => text.trim().split(/\s+/).sort();

test('the directives without effect are those that have been looked at', () => {
  const accepted = registry.entries.flatMap(({ name, row }) => ('accepted' in row ? name : []));
  expect([...new Set(accepted)].sort()).toEqual(wordsOf(DIRECTIVES));
});

test('the parameters without effect are those that have been looked at', () => {
  const ignored = registry.entries.flatMap(({ name, row: { ignores } }) =>
    ignores ? [[name, Object.keys(ignores).sort()] as const] : [],
  );
  const looked = Object.entries(PARAMETERS).map(([name, words]) => [name, wordsOf(words)] as const);
  expect(Object.fromEntries(ignored)).toEqual(Object.fromEntries(looked));
});

test('whatever has no effect says why, in a sentence of its own', () => {
  for (const { name, row } of registry.entries) {
    const reasons = ['accepted' in row ? row.accepted : [], Object.values(row.ignores ?? {})].flat();
    for (const reason of reasons) expect(reason, name).toMatch(/^\S+(?: \S+){2,}[^.]$/);
  }
});
