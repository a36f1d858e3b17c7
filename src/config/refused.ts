/** Why a directive that nginx has is refused. */
export interface Refusal {
  /** Completes `"directive" directive is …`. */
  readonly is: string;
  readonly reason?: string;
}

/** What gw will not do, by directive name, with the reason or the way around. */
const NOT_SUPPORTED: readonly (readonly [RegExp, string])[] = [
  [/^(fastcgi|uwsgi|scgi|grpc|memcached|tunnel)_/, 'gw talks HTTP to its upstreams'],
  [/^redis2?_/, 'use kv_pass'],
  [/^(stream|mail)$/, 'gw serves HTTP only: run this block in another server'],
  [/_by_lua(_block|_file)?$|^lua_/, 'Lua is not available in gw'],
  [/^js_(?!shared_dict_zone$)/, 'njs is not available in gw'],
  [/^perl(_|$)/, 'Perl is not available in gw'],
  [/^(dav_|create_full_put_path$|min_delete_depth$)/, 'WebDAV is not available in gw'],
  [
    /^(image_filter|xslt_|xml_entities$|geoip2?(_|$)|mp4|flv|hls|f4f)/,
    'this nginx module is not available in gw',
  ],
  [
    /^(modern_browser|ancient_browser|google_perftools_profiles|degrad|eventport_|kqueue_|devpoll_|iocp_)/,
    'this nginx module is not available in gw',
  ],
  [
    /^(status_zone|api|health_check|match|state|queue|ntlm|session_log|auth_jwt|zone_sync|keyval|internal_redirect|mgmt)(_|$)/,
    'it belongs to the commercial nginx',
  ],
  [/^(more_(set|clear)_|headers_more_)/, 'use add_header'],
  [
    /^(brotli|zstd|vhost_traffic_status|modsecurity|upload_|pagespeed|auth_pam|nchan_|echo|rds_|drizzle_|postgres_|push_stream|passenger)/,
    'this third-party nginx module is not available in gw',
  ],
];

/** Directives of nginx's own modules; those that have a row never come here. */
const NGINX = new Set(
  `server_name_in_redirect port_in_redirect root alias index try_files etag if_modified_since max_ranges expires add_trailer
  log_not_found recursive_error_pages limit_except rewrite if break rewrite_log uninitialized_variable_warn map geo
  split_clients client_body_temp_path client_body_in_file_only client_body_in_single_buffer client_header_timeout
  keepalive_time keepalive_disable keepalive underscores_in_headers ignore_invalid_headers limit_rate limit_rate_after
  ip_hash least_conn least_time hash random zone sticky resolver resolver_timeout allow deny satisfy set_real_ip_from
  valid_referers mirror mirror_request_body slice random_index empty_gif log_subrequest open_log_file_cache
  disable_symlinks msie_padding msie_refresh max_headers post_action subrequest_output_buffer_size
  chunked_transfer_encoding add_header_inherit add_trailer_inherit early_hints addition_types add_before_body
  add_after_body override_charset source_charset`.split(/\s+/),
);

/** Families of nginx's own modules whose names begin alike. */
const NGINX_FAMILIES =
  /^(autoindex|charset|gzip|gunzip|proxy|auth_basic|auth_request|auth_delay|limit_req|limit_conn|real_ip|ssl|sub_filter|ssi|secure_link|userid|lingering|http2|http3|quic)(_|$)/;

/** Variables that nginx has and this version of gw does not. */
const NGINX_VARIABLES =
  /^((upstream|proxy|ssl|realip|geoip2?|fastcgi|jwt|uid|tcpinfo|connections|secure_link|limit_conn|limit_req|gzip|slice|date|sent_trailer|memcached|grpc)_\w+|binary_remote_addr|bytes_sent|connection_requests|connection_time|document_root|realpath_root|request_filename|request_body(_file)?|limit_rate|nginx_version|pipe|is_request_port|request_port|http2|http3|invalid_referer|modern_browser|ancient_browser|msie|secure_link)$/;

/** Why a directive of nginx, or of a module that is often built into it, is refused; `undefined`: the name is not known. */
export function refusalOf(directive: string): Refusal | undefined {
  const reason = NOT_SUPPORTED.find(([names]) => names.test(directive))?.[1];
  if (reason !== undefined) return { is: 'not supported', reason };
  const isNginx = NGINX.has(directive) || NGINX_FAMILIES.test(directive);
  return isNginx ? { is: 'not available in this version of gw' } : undefined;
}

/** Whether nginx has a variable of this name (one that gw has itself never comes here). */
export function isNginxVariable(name: string): boolean {
  return NGINX_VARIABLES.test(name);
}
