import { expect, test } from 'vitest';
import { check, load } from '../../../src/pipeline.ts';

const ZONE = 'shared_dict_zone zone=feature_flags:64k;';

const KV = 'kv_pass a:1; kv_key k; kv_command incr;';

const cases: readonly { readonly conf: string; readonly open: boolean }[] = [
  { conf: 'listen 80; location / { control_api; }', open: true },
  { conf: 'location / { control_api; }', open: true },
  { conf: 'listen 127.0.0.1:80; listen [::]:80; location / { control_api; }', open: true },
  { conf: 'listen 80; location / { location /a { control_api flag_set; } return 204; }', open: true },
  { conf: 'listen 80; location / { allow 10.0.0.0/8; control_api; }', open: true },
  { conf: 'listen 80; location / { deny 10.0.0.1; control_api; }', open: true },
  { conf: 'listen 80; location / { allow all; deny all; control_api; }', open: true },
  { conf: 'listen 80; location / { allow 0.0.0.0/0; deny all; control_api; }', open: true },
  { conf: 'listen 80; location / { control_api ready; }', open: true },
  { conf: 'listen 80; location / { auth_basic off; auth_basic_user_file f; control_api; }', open: true },
  { conf: 'listen 80; location / { satisfy any; allow all; auth_request /a; control_api; }', open: true },
  { conf: 'listen 80; location / { if ($request_method = PUT) { return 403; } control_api; }', open: true },
  { conf: 'listen 80; location / { if ($arg_key = "") { return 403; } control_api; }', open: true },
  { conf: 'listen 80; location / { if ($remote_addr = 10.1.2.3) { return 403; } control_api; }', open: true },
  { conf: 'listen 80; location / { limit_except GET { deny all; } control_api; }', open: true },
  { conf: 'listen 80; location / { try_files $uri @c; } location @c { control_api; }', open: true },
  { conf: `listen 80; location / { limit_except POST { deny all; } ${KV} }`, open: true },
  { conf: 'listen 80; location / { allow 10.0.0.0/8; deny all; control_api; }', open: false },
  { conf: 'listen 80; deny all; location / { control_api; }', open: false },
  { conf: 'listen 80; location / { internal; control_api; }', open: false },
  { conf: 'listen 80; location / { auth_basic x; auth_basic_user_file f; control_api; }', open: false },
  { conf: 'listen 80; auth_request /a; location / { control_api; }', open: false },
  {
    conf: 'listen 80; location / { satisfy any; allow 10.0.0.0/8; auth_request /a; deny all; control_api; }',
    open: false,
  },
  {
    conf: 'listen 127.0.0.1:80; listen [::1]:80; listen unix:/gw.sock; location / { control_api; }',
    open: false,
  },
  { conf: 'listen localhost:80; location / { control_api; }', open: false },
  {
    conf: 'listen 80; location = /h { control_api health; } location = /l { control_api live; }',
    open: false,
  },
  { conf: 'listen 80; location / { if ($arg_key != s3cret) { return 403; } control_api; }', open: false },
  {
    conf: 'listen 80; if ($remote_addr != 10.1.2.3) { return 444; } location / { control_api; }',
    open: false,
  },
  { conf: 'listen 80; location / { if ($secure_link = "") { return 403; } control_api; }', open: false },
  {
    conf: 'listen 80; location / { deny all; error_page 403 @c; } location @d { control_api; }',
    open: false,
  },
  { conf: `listen 80; location / { limit_except GET { deny all; } ${KV} }`, open: false },
  { conf: 'listen 443 ssl; ssl_verify_client on; location / { control_api; }', open: false },
  { conf: 'listen 443 ssl; ssl_verify_client optional; location / { control_api; }', open: true },
  { conf: 'listen 80; listen 443 ssl; ssl_verify_client on; location / { control_api; }', open: true },
  { conf: 'listen 80; location / { return 204; }', open: false },
];

async function found(server: string): Promise<string[]> {
  const text = `events {} http { ${ZONE} server { ${server} } }`;
  const findings = await check(load({ confFile: '/gw.conf', name: 'gw.conf', prefix: '/', text }));
  return findings.map(({ slug }) => slug).filter((slug) => /^(control|kv-write)-public$/.test(slug));
}

for (const { conf, open } of cases) {
  test(`any client ${open ? 'has' : 'does not have'} access to ${conf}`, async () => {
    expect(await found(conf)).toHaveLength(open ? 1 : 0);
  });
}
