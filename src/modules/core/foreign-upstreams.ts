/** What nginx has for each of its protocols towards upstreams, behind `fastcgi_`, `uwsgi_` … */
const ALIKE = `bind buffer_size connect_timeout ignore_headers intercept_errors next_upstream next_upstream_timeout
  next_upstream_tries read_timeout send_timeout socket_keepalive`;

const CGI = `${ALIKE} buffering buffers busy_buffers_size cache cache_background_update cache_bypass cache_key cache_lock
  cache_lock_age cache_lock_timeout cache_max_range_offset cache_methods cache_min_uses cache_path cache_purge
  cache_revalidate cache_use_stale cache_valid force_ranges hide_header ignore_client_abort limit_rate
  max_temp_file_size no_cache param pass_header pass_request_body pass_request_headers request_buffering store
  store_access temp_file_write_size`;

const TLS = `ssl_certificate ssl_certificate_cache ssl_certificate_key ssl_ciphers ssl_conf_command ssl_crl ssl_name
  ssl_password_file ssl_protocols ssl_server_name ssl_session_reuse ssl_trusted_certificate ssl_verify ssl_verify_depth`;

const PROTOCOLS: Readonly<Record<string, string>> = {
  fastcgi: `${CGI} allow_upstream catch_stderr index keep_conn send_lowat split_path_info`,
  uwsgi: `${CGI} ${TLS} allow_upstream modifier1 modifier2 string`,
  scgi: `${CGI} allow_upstream`,
  grpc: `${ALIKE} ${TLS} allow_upstream hide_header pass_header set_header`,
  memcached: `${ALIKE} allow_upstream gzip_flag`,
};

/**
 * Parameters of protocols that gw does not speak, separated by blanks: files such as `fastcgi_params` are often included
 * without use. The directives that do forward by them (`fastcgi_pass` …) are refused all the same.
 */
export const FOREIGN_UPSTREAMS = Object.entries(PROTOCOLS)
  .flatMap(([protocol, names]) => names.split(/\s+/).map((name) => `${protocol}_${name}`))
  .join(' ');
