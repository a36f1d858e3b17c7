import type { AnyModule } from '../contract/index.ts';
import { access } from './access/index.ts';
import { accessLog } from './access_log/index.ts';
import { acme } from './acme/index.ts';
import { addition } from './addition.ts';
import { authApiKey } from './auth_api_key/index.ts';
import { authBasic } from './auth_basic/index.ts';
import { authJwt } from './auth_jwt/index.ts';
import { authOidc } from './auth_oidc/index.ts';
import { authRequest } from './auth_request.ts';
import { brotli } from './brotli.ts';
import { cache } from './cache.ts';
import { cachePurge } from './cache_purge/index.ts';
import { canary } from './canary.ts';
import { charset } from './charset/index.ts';
import { circuitBreaker } from './circuit_breaker/index.ts';
import { cluster } from './cluster/index.ts';
import { control } from './control/index.ts';
import { core } from './core/index.ts';
import { dbrest } from './dbrest/index.ts';
import { dynamicUpstreams } from './dynamic_upstreams/index.ts';
import { echo } from './echo.ts';
import { echoz } from './echoz/index.ts';
import { fastcgi } from './fastcgi/index.ts';
import { geo } from './geo/index.ts';
import { geoip2 } from './geoip2/index.ts';
import { grpc } from './grpc/index.ts';
import { gunzip } from './gunzip.ts';
import { gzip } from './gzip/index.ts';
import { headers } from './headers/index.ts';
import { headersMore } from './headers_more.ts';
import { health } from './health/index.ts';
import { identityHeaders } from './identity_headers.ts';
import { kv } from './kv/index.ts';
import { limitConn } from './limit_conn/index.ts';
import { limitRate } from './limit_rate.ts';
import { limitReq } from './limit_req/index.ts';
import { map } from './map/index.ts';
import { memcached } from './memcached/index.ts';
import { mirror } from './mirror.ts';
import { otel } from './otel/index.ts';
import { proxy } from './proxy/index.ts';
import { quota } from './quota/index.ts';
import { rateLimit } from './ratelimit/index.ts';
import { realip } from './realip/index.ts';
import { referer } from './referer/index.ts';
import { requestId } from './request_id.ts';
import { slowLog } from './slow_log/index.ts';
import { rewrite } from './rewrite/index.ts';
import { scgi } from './scgi.ts';
import { secureLink } from './secure_link.ts';
import { splitClients } from './split_clients.ts';
import { ssi } from './ssi/index.ts';
import { ssl } from './ssl/index.ts';
import { staticFiles } from './static/index.ts';
import { stubStatus } from './stub_status.ts';
import { subFilter } from './sub_filter/index.ts';
import { upstream } from './upstream/index.ts';
import { upstreamBalancer } from './upstream_balancer.ts';
import { userid } from './userid/index.ts';
import { uwsgi } from './uwsgi.ts';
import { workerEvents } from './worker_events/index.ts';

export { isKeyId } from './auth_api_key/index.ts';
export { hashPassword, PASSWORD_SCHEMES, type PasswordScheme } from './auth_basic/index.ts';
export type { CachePurgeConfig } from './cache_purge/index.ts';
export { type ControlConfig, endpointPath } from './control/index.ts';
export { type DbrestConfig, type dbrestTools, hasPrograms, loadDbrestTools } from './dbrest/index.ts';
export type { DynamicUpstreamsConfig } from './dynamic_upstreams/index.ts';
export { eventsEndpoint, type EventsEndpoint } from './worker_events/index.ts';

/** All modules, in the order in which their handlers of a location run. */
export const MODULES: readonly AnyModule[] = [
  core,
  // The trace of a request is known to all that serve it.
  otel,
  ssl,
  acme,
  rewrite,
  map,
  geo,
  geoip2,
  splitClients,
  canary,
  upstream,
  health,
  referer,
  secureLink,
  realip,
  // Before all that reads who asks.
  identityHeaders,
  limitReq,
  limitConn,
  access,
  // Takes its keys out of requests, before others ask for anything.
  authApiKey,
  authJwt,
  authOidc,
  authBasic,
  authRequest,
  // After the access phase: refused requests consume no rate and are no trials.
  quota,
  rateLimit,
  circuitBreaker,
  limitRate,
  // nginx's order of filters: first those that add headers, last the one that compresses the body. Bodies that
  // `addition` inserts have passed the filters of their own location.
  requestId,
  headersMore,
  headers,
  userid,
  gunzip,
  subFilter,
  charset,
  ssi,
  addition,
  brotli,
  gzip,
  mirror,
  accessLog,
  slowLog,
  cache,
  cluster,
  proxy,
  fastcgi,
  grpc,
  uwsgi,
  scgi,
  memcached,
  echo,
  echoz,
  kv,
  workerEvents,
  dynamicUpstreams,
  cachePurge,
  dbrest,
  stubStatus,
  upstreamBalancer,
  control,
  staticFiles,
];
