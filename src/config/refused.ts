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
const NGINX = /^(ssi(_\w+)?|slice|sticky|least_time|subrequest_output_buffer_size)$/;

/** Variables that nginx has and this version of gw does not. */
const NGINX_VARIABLES =
  /^((geoip2?|fastcgi|jwt|memcached|grpc|slice)_\w+|modern_browser|ancient_browser|msie)$/;

/** Why a directive of nginx, or of a module that is often built into it, is refused; `undefined`: the name is not known. */
export function refusalOf(directive: string): Refusal | undefined {
  const reason = NOT_SUPPORTED.find(([names]) => names.test(directive))?.[1];
  if (reason !== undefined) return { is: 'not supported', reason };
  return NGINX.test(directive) ? { is: 'not available in this version of gw' } : undefined;
}

/** Whether nginx has a variable of this name (one that gw has itself never comes here). */
export function isNginxVariable(name: string): boolean {
  return NGINX_VARIABLES.test(name);
}
