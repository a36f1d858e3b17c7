import type { Context } from './row.ts';

/** The reason for refusing a directive of nginx. */
interface Refusal {
  /** Completes `"directive" directive is …`. */
  readonly is: string;
  readonly reason?: string;
}

/** Directives that gw does not support, with the reason or an alternative. */
const NOT_SUPPORTED: readonly (readonly [RegExp, string])[] = [
  [/^tunnel_/, 'gw does not speak this protocol to its upstreams'],
  [/^redis2?_/, 'use kv_pass'],
  [/^(stream|mail)$/, 'gw serves HTTP only: run this block in another server'],
  [/^echo_/, 'of the echo module gw has "echo" only'],
  [/_by_lua(_block|_file)?$|^lua_/, 'Lua is not available in gw'],
  [/^js_(?!shared_dict_zone$)/, 'njs is not available in gw'],
  [/^perl(_|$)/, 'Perl is not available in gw'],
  [/^(dav_|create_full_put_path$|min_delete_depth$)/, 'WebDAV is not available in gw'],
  [
    /^acme(_|$)/,
    'gw gets no certificates by itself: let an ACME client write the files of "ssl_certificate", and reload with gw -s reload',
  ],
  [/^geoip(_|$)/, 'its databases are no longer made: use geoip2'],
  [/^(image_filter|xslt_|xml_entities$|mp4|flv|hls|f4f)/, 'this nginx module is not available in gw'],
  [
    /^(modern_browser|ancient_browser|google_perftools_profiles|degrad|eventport_|kqueue_|devpoll_|iocp_)/,
    'this nginx module is not available in gw',
  ],
  [
    /^(status_zone|api|queue|ntlm|session_log|auth_jwt|zone_sync|keyval|internal_redirect|mgmt)(_|$)|^state$/,
    'it belongs to the commercial nginx',
  ],
  [
    /^(more_(set|clear)_input_headers$)/,
    'headers of requests are set towards upstreams only: use proxy_set_header',
  ],
  [
    /^(zstd|vhost_traffic_status|modsecurity|upload_|pagespeed|auth_pam|nchan_|rds_|drizzle_|postgres_|push_stream|passenger)/,
    'this third-party nginx module is not available in gw',
  ],
];

/** Directives of the upstream_check module, of which one has the name of a block of gw. */
const UPSTREAM_CHECK = {
  names: /^check_(http_|fastcgi_|keepalive_|shm_size$|status$)/,
  reason: 'it belongs to the upstream_check module: use health_check',
};

/** Variables of nginx that this version of gw does not have. */
const NGINX_VARIABLES = /^((geoip|jwt|grpc)_\w+|modern_browser|ancient_browser|msie)$/;

/** The reason for refusing a directive of nginx or of a common third-party module; `undefined` if the name is unknown. */
export function refusalOf(directive: string, context?: Context): Refusal | undefined {
  const isCheck = (directive === 'check' && context === 'upstream') || UPSTREAM_CHECK.names.test(directive);
  if (isCheck) return { is: 'not supported', reason: UPSTREAM_CHECK.reason };
  const reason = NOT_SUPPORTED.find(([names]) => names.test(directive))?.[1];
  return reason === undefined ? undefined : { is: 'not supported', reason };
}

/** Whether nginx has a variable of this name. Variables that gw has are never looked up here. */
export function isNginxVariable(name: string): boolean {
  return NGINX_VARIABLES.test(name);
}
