import { expect, test } from 'vitest';
import { isNginxVariable, refusalOf, Registry } from '../../src/config/index.ts';
import { MODULES } from '../../src/modules/index.ts';

const registry = new Registry(MODULES);

const notYet =
  `root alias index try_files expires limit_except rewrite if break map geo split_clients proxy_pass
  proxy_set_header proxy_cache_path proxy_ssl_name ssl_certificate ssl_protocols gzip gzip_types gunzip charset autoindex
  allow deny satisfy auth_basic auth_request limit_req limit_req_zone limit_conn set_real_ip_from real_ip_header resolver
  keepalive ip_hash least_conn hash random zone sub_filter ssi secure_link userid mirror slice empty_gif
  add_trailer underscores_in_headers client_header_timeout valid_referers early_hints`.split(/\s+/);

const never =
  `stream mail fastcgi_pass fastcgi_param uwsgi_pass scgi_pass grpc_pass memcached_pass perl_set js_import
  lua_shared_dict access_by_lua_block rewrite_by_lua_file xslt_stylesheet image_filter dav_methods mp4 flv geoip_country
  geoip2 status_zone health_check match keyval_zone auth_jwt more_set_headers brotli brotli_static modsecurity
  vhost_traffic_status_zone nchan_pubsub echo redis_pass api`.split(/\s+/);

for (const { names, is } of [
  { names: notYet, is: 'not available in this version of gw' },
  { names: never, is: 'not supported' },
]) {
  test(`a directive of nginx that is ${is} is recognised by its name`, () => {
    for (const name of names) expect(refusalOf(name)?.is, name).toBe(is);
  });
}

test('a name that nothing has is not taken for one of nginx', () => {
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
  ])
    expect(refusalOf(name), name).toBeUndefined();
});

test('a directive that gw has is never refused by name', () => {
  const refused = registry.entries.filter(
    ({ name, row }) => !('accepted' in row) && refusalOf(name)?.is === 'not supported',
  );
  expect(refused.map(({ name }) => name)).toEqual([]);
});

test('a variable that only nginx has is recognised by its name', () => {
  for (const name of ['upstream_addr', 'ssl_protocol', 'geoip_city_name', 'slice_range', 'uid_got'])
    expect(isNginxVariable(name), name).toBe(true);
});
