import type { Context } from './row.ts';

/** The reason for refusing a directive of nginx. */
interface Refusal {
  /** Completes `"directive" directive is …`. */
  readonly is: string;
  readonly reason?: string;
}

/** Directives of nginz that gw does not have, each with gw's replacement. */
const OF_NGINZ: readonly (readonly [RegExp, string])[] = [
  [/^redis2?_/, 'use kv_pass'],
  [/^pgrest(_|$)/, 'use dbrest_pass'],
  [/^request_?id$/, 'request_id_header, or request_id_response, is enough'],
  [/^request_?id_format$/, 'new ids are UUIDs of version 4'],
  [/^canary$/, 'canary_percentage, or canary_header, is enough'],
  [/^canary_cookie$/, 'use map on the variable of the cookie, or canary_header'],
  [/^canary_upstream$/, 'let map choose the upstream by $ngz_canary, and name its variable in proxy_pass'],
  [/^circuit_breaker$/, 'circuit_breaker_threshold is enough'],
  [/^consul(_|$)/, 'use dynamic_upstreams_source consul'],
  [
    /^echoz_(abort_parent|blocking_sleep|end|foreach_split|location|reset_timer|subrequest|subrequest_async)$/,
    'use echoz_location_async for a request in the background, or SSI for one whose response is shown',
  ],
  [/^graphql/, 'gw reads no GraphQL: limit bodies by client_max_body_size, requests by limit_req'],
  [/^jsonschema/, 'gw compares no body with a schema: let auth_request or the upstream decide'],
  [/^transform(_|$)/, 'use sub_filter'],
  [/^waf/, 'gw has no rules for attacks: use map with return, allow and deny, limit_req'],
  [/^nftset/, 'gw changes no sets of nftables: use allow and deny, or geo'],
  [/^wechatpay(_|$)/, 'gw checks no signatures of WeChat Pay: let auth_request or the upstream do it'],
];

const OF_PLUS = 'it belongs to the commercial nginx';

/** Directives that gw does not support, with the reason or an alternative. */
const NOT_SUPPORTED: readonly (readonly [RegExp, string])[] = [
  ...OF_NGINZ,
  [/^tunnel_/, 'gw does not speak this protocol to its upstreams'],
  [
    /^(proxy|fastcgi|uwsgi|scgi|grpc|memcached)_allow_upstream$/,
    'it belongs to the commercial nginx: list in "upstream" only the peers that requests may reach',
  ],
  [/^(proxy|fastcgi|uwsgi|scgi|grpc|memcached)_(bind|request)_dynamic$/, OF_PLUS],
  [/^otel_upstream_span_enable$/, 'otel_child_spans adds a span for each try of an upstream'],
  [/^jwt$/, 'use jwt_secret, jwt_key_file or auth_jwt'],
  [/^(stream|mail)$/, 'gw serves HTTP only: run this block in another server'],
  [/^echo_/, 'of the echo module gw has "echo" only'],
  [/_by_lua(_block|_file)?$|^lua_/, 'Lua is not available in gw'],
  [/^js_(?!shared_dict_zone$)/, 'njs is not available in gw'],
  [/^perl(_|$)/, 'Perl is not available in gw'],
  [/^(dav_|create_full_put_path$|min_delete_depth$)/, 'WebDAV is not available in gw'],
  [/^geoip(_|$)/, 'its databases are no longer made: use geoip2'],
  [/^(image_filter|xslt_|xml_entities$|mp4|flv|hls|f4f)/, 'this nginx module is not available in gw'],
  [
    /^(modern_browser|ancient_browser|google_perftools_profiles|degrad|eventport_|kqueue_|devpoll_|iocp_)/,
    'this nginx module is not available in gw',
  ],
  [/^api$/, 'use control_api: "control_api keyval" has the entries of keyval zones'],
  [
    /^(status_zone|api|ntlm|session_log|zone_sync|internal_redirect|mgmt|num_map)(_|$)|^(state|auth_require)$/,
    'it belongs to the commercial nginx',
  ],
  [
    /^(more_(set|clear)_input_headers$)/,
    'headers of requests are set towards upstreams only: use proxy_set_header',
  ],
  [
    /^(set_(escape_uri|unescape_uri|if_empty|quote_\w+|encode_\w+|decode_\w+|md5|sha1|hmac_\w+|random|secure_random_\w+|hashed_upstream|rotate|local_today|formatted_\w+|form_input\w*|misc_\w+|cookie_flag)$|encrypted_session_|array_(join|map|map_op|split)$)/,
    'this third-party nginx module is not available in gw: use set and map',
  ],
  [
    /^(fancyindex|subs_filter|memc|srcache|rtmp|fair|auth_ldap|auth_digest|auth_gss|auth_spnego|auth_radius|testcookie|vod|sysguard|slowfs|ajp|trim|dyups|jdomain|track_uploads|report_uploads|security_headers|length_hiding|limit_upload_rate|req_status|google_perftools)(_|$)/,
    'this third-party nginx module is not available in gw',
  ],
  [
    /^(SecRules\w*|DeniedUrl|LearningMode|LibInjection\w*|(Basic|Check|Main)Rule)$/,
    'this third-party nginx module is not available in gw',
  ],
  [
    /^(zstd|vhost_traffic_status|modsecurity|upload_|pagespeed|auth_pam|nchan_|rds_|drizzle_|postgres_|push_stream|passenger)/,
    'this third-party nginx module is not available in gw',
  ],
];

/** Directives of the upstream_check module; one of them has the name of a block of gw. */
const UPSTREAM_CHECK = {
  names: /^check_(http_|fastcgi_|keepalive_|shm_size$|status$)/,
  reason: 'it belongs to the upstream_check module: use health_check',
};

/** Directives of others in `upstream` blocks that have the names of directives of gw elsewhere. */
const IN_UPSTREAM: ReadonlyMap<string, string> = new Map([
  ['check', UPSTREAM_CHECK.reason],
  ['queue', OF_PLUS],
]);

/** True for a directive of another module that has the name of one of gw. */
export function isForeign(directive: string, context: Context): boolean {
  return context === 'upstream' && IN_UPSTREAM.has(directive);
}

/** Variables of nginx that this version of gw does not have. */
const NGINX_VARIABLES =
  /^((geoip|grpc|ngz|nchan|upload|memc|naxsi|echo|echoz|prometheus|ratelimit|upstream_last)_\w+|modern_browser|ancient_browser|msie|upstream_queue_time|session_log_id|fancyindex_path)$/;

/** The reason for refusing a directive of nginx or a common third-party module; `undefined` for unknown names. */
export function refusalOf(directive: string, context?: Context): Refusal | undefined {
  if (UPSTREAM_CHECK.names.test(directive)) return { is: 'not supported', reason: UPSTREAM_CHECK.reason };
  const foreign = context === 'upstream' ? IN_UPSTREAM.get(directive) : undefined;
  const reason = foreign ?? NOT_SUPPORTED.find(([names]) => names.test(directive))?.[1];
  return reason === undefined ? undefined : { is: 'not supported', reason };
}

/** True if nginx has a variable of this name. Not called for variables that gw has. */
export function isNginxVariable(name: string): boolean {
  return NGINX_VARIABLES.test(name);
}
