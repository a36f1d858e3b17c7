/** nginx's modules that gw knows by name and does not have; a config that needs them is refused with the reason. */
const REFUSED: readonly (readonly [RegExp, string])[] = [
  [/^(fastcgi|uwsgi|scgi|grpc|memcached|tunnel)_pass$/, 'gw proxies over HTTP only'],
  [/^(stream|mail)$/, 'gw serves HTTP only: run this block in another server'],
  [/_by_lua(_block|_file)?$|^lua_/, 'Lua is not available in gw'],
  [/^js_(?!shared_dict_zone)/, 'njs is not available in gw'],
  [/^perl(_|$)/, 'Perl is not available in gw'],
  [/^(dav_methods|create_full_put_path|min_delete_depth|dav_access)$/, 'WebDAV is not available in gw'],
  [/^(image_filter|xslt_|geoip_|mp4|flv)/, 'this nginx module is not available in gw'],
];

/** Why a directive of nginx is refused, or `undefined` when its name is not known at all. */
export function refusalOf(directive: string): string | undefined {
  return REFUSED.find(([names]) => names.test(directive))?.[1];
}
