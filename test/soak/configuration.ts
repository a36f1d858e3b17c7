import type { Engine } from './options.ts';

/** The ports of one run, of the gateway and of what stands behind it. */
export interface Sites {
  readonly engine: Engine;
  readonly dir: string;
  readonly port: number;
  readonly tlsPort: number;
  readonly proxyPort: number;
  /** Where clients show certificates. */
  readonly certificatePort: number;
  readonly dsn: string;
  /** The same database behind a pooler in transaction mode. */
  readonly pooledDsn: string;
  readonly storePort: number;
  readonly damagedPort: number;
  readonly upstreamPort: number;
}

export const JWT_SECRET = 'a secret that only this run knows, 32+';
export const PUBLISH_KEY = 'publish-key-of-this-run';
export const WORKERS = 2;

/** The whole configuration, with every kind of location once. `version` distinguishes the loads. */
export function configuration(sites: Sites, version: number): string {
  const { engine, dir, upstreamPort } = sites;
  return `
daemon off; pid ${dir}/gw.pid; error_log ${dir}/error.log notice; worker_processes ${WORKERS}; http_engine ${engine};
check { log off; }
events {}
http {
  access_log off;
  log_format told '$remote_addr "$request" $status "$http_user_agent" "$args"';
  client_max_body_size 256k; client_header_timeout 4s; client_body_timeout 4s; send_timeout 4s;
  keepalive_timeout 8s; lingering_timeout 1s; lingering_time 3s; proxy_read_timeout 4s; proxy_connect_timeout 2s;
  upstream echo { server 127.0.0.1:${upstreamPort}; keepalive 8; }
  map $arg_kind $mapped { default other; ~^a[0-9]+$ numbered; b plain; }
  limit_req_zone $arg_client zone=slowly:1m rate=50r/s;
  shared_dict_zone zone=feature_flags:1m;
  proxy_cache_path ${dir}/pages keys_zone=pages:1m max_size=16m inactive=1m;
  dbrest_anon_role anon; dbrest_jwt_secret "${JWT_SECRET}"; dbrest_max_rows 1000;
  server {
    server_name soak.example;
    default_type text/plain;
    ${ports(sites)}
    location = /version { return 200 "${version}"; }
    ${OWN_LOCATIONS.replaceAll('DIR', dir)}
    ${CLOSED_LOCATIONS}
    ${storeLocations(sites)}
    location /api/ { dbrest_pass ${sites.dsn}; }
    location /pooled/ { dbrest_pass ${sites.pooledDsn}; }
  }
  ${certificateServers(sites)}
}
`;
}

function ports({ port, tlsPort, proxyPort, dir }: Sites): string {
  return `listen 127.0.0.1:${port}; listen 127.0.0.1:${tlsPort} ssl http2;
    listen 127.0.0.1:${proxyPort} proxy_protocol; ssl_certificate ${dir}/soak.crt; ssl_certificate_key ${dir}/soak.key;
    set_real_ip_from 127.0.0.1; real_ip_header proxy_protocol;`;
}

/** Two servers of one port and one authority, which a client with a certificate that only one of them takes may enter. */
function certificateServers({ certificatePort, dir }: Sites): string {
  const server = (name: string, more: string) => `server {
    server_name ${name}; listen 127.0.0.1:${certificatePort} ssl;
    ssl_certificate ${dir}/soak.crt; ssl_certificate_key ${dir}/soak.key; ssl_session_cache shared:tls:1m;
    ssl_client_certificate ${dir}/soak.crt; ssl_verify_client on; ${more}
    return 200 "entered $server_name";
  }`;
  return `${server('shallow.example', 'ssl_verify_depth 1;')}
  ${server('revoking.example', `ssl_verify_depth 2; ssl_crl ${dir}/soak.crl;`)}`;
}

/** The locations that depend on neither the database nor the store. */
const OWN_LOCATIONS = `
    location = /live { control_api live; }
    location = /metrics { control_api metrics; }
    location = /name { return 200 $http_x_name; }
    location = /address { return 200 $remote_addr; }
    location /say/ { add_header X-Kind $mapped; return 200 "$request_method $uri $arg_x"; }
    location /files/ { alias DIR/files/; }
    location /logged/ { access_log DIR/access.log told; return 204; }
    location /limited/ { limit_req zone=slowly burst=5; return 204; }
    location /moved/ { rewrite ^/moved/([a-z0-9]*)/(.*)$ /say/$2?x=$1 last; return 404; }
    location /echo/ { proxy_pass http://echo; }
    location /runtime/ { control_api; }
    location = /events {
      worker_events_api; worker_events_zone bus; worker_events_channel soak; worker_events_ring_size 256;
      worker_events_publish_key ${PUBLISH_KEY};
    }`;

/** What a client gets from these is refused, or its own; see `requests/closed.ts`. */
const CLOSED_LOCATIONS = `
    underscores_in_headers on; proxy_cache_valid 200 1m;
    location /pages/ { proxy_pass http://echo; proxy_cache pages; proxy_cache_key $uri$cookie_page; }
    location /live-pages/ { proxy_pass http://echo; proxy_cache pages; }
    location /unbuffered/ { proxy_pass http://echo; proxy_cache pages; proxy_buffering off; }
    location /inside/ { internal; return 200 secret; }
    location /intercepted/ { proxy_pass http://echo; proxy_intercept_errors on; error_page 404 /say/nothing; }
    location /tunnel/ {
      proxy_pass http://echo; proxy_http_version 1.1;
      proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade;
    }
    location /known/ { real_ip_header X-Forwarded-For; allow 192.0.2.7; deny all; proxy_pass http://echo; }`;

function storeLocations({ storePort, damagedPort }: Sites): string {
  const command = (name: string) =>
    `location = /kv/${name} { kv_pass 127.0.0.1:${storePort}; kv_command ${name}; kv_key $arg_k; }`;
  const commands = ['get', 'set', 'del', 'incr', 'mget', 'hset', 'hget', 'expire', 'ttl'].map(command);
  return `${commands.join('\n    ')}
    location = /damaged { kv_pass 127.0.0.1:${damagedPort}; kv_command get; kv_key $arg_k; }`;
}
