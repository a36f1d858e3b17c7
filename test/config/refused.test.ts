import { expect, test } from 'vitest';
import { isNginxVariable, refusalOf, Registry } from '../../src/config/index.ts';
import { MODULES } from '../../src/modules/index.ts';

const registry = new Registry(MODULES);

const never = `stream mail tunnel_pass tunnel_buffer_size perl_set js_import
  lua_shared_dict access_by_lua_block rewrite_by_lua_file xslt_stylesheet image_filter dav_methods mp4 flv geoip_country
  status_zone more_set_input_headers zstd modsecurity
  vhost_traffic_status_zone nchan_pubsub echo_sleep redis_pass api
  otel_upstream_span_enable num_map auth_require proxy_bind_dynamic grpc_request_dynamic
  proxy_allow_upstream memcached_allow_upstream pgrest_pass canary_cookie canary circuit_breaker consul_address
  request_id_format requestid echoz_foreach_split graphql jsonschema transform waf nftset wechatpay_notify set_unescape_uri encrypted_session_key
  fancyindex subs_filter memc_pass srcache_fetch rtmp auth_ldap SecRulesEnabled`.split(/\s+/);

test('a directive of nginx that is not supported is recognised by its name', () => {
  for (const name of never) expect(refusalOf(name)?.is, name).toBe('not supported');
});

test('an unknown name is not mistaken for one of nginx', () => {
  for (const name of [
    '',
    'retrun',
    'rooot',
    'frobnicate',
    'proxypass',
    'sslcertificate',
    'iff',
    'locaton',
    'maps',
    'set_header',
    'sub_filters',
    'requests',
  ])
    expect(refusalOf(name), name).toBeUndefined();
});

test('a directive of gw is never refused by name', () => {
  const refused = registry.entries.filter(
    ({ name, row }) => !('accepted' in row) && refusalOf(name)?.is === 'not supported',
  );
  expect(refused.map(({ name }) => name)).toEqual([]);
});

test('a variable that only nginx has is recognised by its name', () => {
  for (const name of ['geoip_city_name', 'grpc_x', 'ratelimit_entries'])
    expect(isNginxVariable(name), name).toBe(true);
});
