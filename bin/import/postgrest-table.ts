/** Older names. */
export const ALIASES: ReadonlyMap<string, string> = table({
  'db-schema': 'db-schemas',
  'max-rows': 'db-max-rows',
  'pre-request': 'db-pre-request',
  'role-claim-key': 'jwt-role-claim-key',
  'root-spec': 'db-root-spec',
  'secret-is-base64': 'jwt-secret-is-base64',
  'db-pool-timeout': 'db-pool-acquisition-timeout',
});

interface Carried {
  readonly directive: string;
  /** The words of the directive; why there are none; or nothing, where none is needed. */
  readonly args: (value: string) => readonly string[] | string | undefined;
}

const MOST_CONNECTIONS = 16;

const same = (value: string): readonly string[] => [value];
const flag = (value: string): readonly string[] | string => {
  if (/^(?:true|1)$/i.test(value)) return ['on'];
  return /^(?:false|0)$/i.test(value) ? ['off'] : `"${value}" is neither true nor false`;
};

/** Settings that are one directive of a location. */
export const ONE_TO_ONE: Readonly<Record<string, Carried>> = {
  'db-schemas': { directive: 'dbrest_schemas', args: (value) => [names(value)] },
  'db-extra-search-path': { directive: 'dbrest_extra_search_path', args: (value) => [names(value)] },
  'db-anon-role': { directive: 'dbrest_anon_role', args: same },
  'jwt-aud': { directive: 'dbrest_jwt_audience', args: same },
  'jwt-role-claim-key': { directive: 'dbrest_jwt_role_claim', args: same },
  'db-max-rows': { directive: 'dbrest_max_rows', args: same },
  'db-pre-request': { directive: 'dbrest_pre_request', args: same },
  'db-tx-end': { directive: 'dbrest_tx_end', args: same },
  'db-pool': { directive: 'dbrest_pool_size', args: poolSize },
  'db-pool-acquisition-timeout': { directive: 'dbrest_pool_timeout', args: (value) => [`${value}s`] },
  'db-aggregates-enabled': { directive: 'dbrest_aggregates', args: flag },
  'db-plan-enabled': { directive: 'dbrest_plan', args: flag },
  'openapi-mode': { directive: 'dbrest_openapi', args: (value) => [value === 'disabled' ? 'off' : value] },
  'server-timing-enabled': { directive: 'dbrest_server_timing', args: flag },
  'server-cors-allowed-origins': {
    directive: 'dbrest_cors_origins',
    args: (value) => value.split(',').map((origin) => origin.trim()),
  },
};

function names(value: string): string {
  return value
    .split(',')
    .map((name) => name.trim())
    .join(', ');
}

function poolSize(value: string): readonly string[] | string {
  const size = Number(value);
  if (size >= 1 && size <= MOST_CONNECTIONS) return [value];
  return size > MOST_CONNECTIONS
    ? `each worker has up to ${MOST_CONNECTIONS} connections; more workers have more`
    : `"${value}" is no number of connections`;
}

const OWN_POOL = 'the pool looks after its connections itself';

/** Why a setting is left out. */
export const NOT_CARRIED: ReadonlyMap<string, string> = table({
  'db-channel': 'gw listens on the channels "pgrst" and "gw"',
  'db-channel-enabled': 'gw always listens for changes of the schema',
  'db-config': 'settings that roles have in the database as "pgrst.*" are not read',
  'db-pre-config': 'the configuration is in this file alone',
  'db-hoisted-tx-settings': 'of the settings of a role all are applied',
  'db-root-spec': 'the root of a location is described by gw itself',
  'db-prepared-statements': 'gw prepares its statements; a pooler in between must allow that',
  'db-use-legacy-gucs': 'request headers, cookies and claims are read as JSON settings',
  'db-pool-max-lifetime': OWN_POOL,
  'db-pool-max-idletime': OWN_POOL,
  'db-pool-automatic-recovery': OWN_POOL,
  'jwt-cache-max-lifetime': 'verified tokens are remembered until they expire',
  'jwt-cache-max-entries': 'the latest 1000 verified tokens are remembered',
  'jwt-cache-max-size': 'the latest 1000 verified tokens are remembered',
  'log-query': 'statements are for the log of the database: log_statement',
  'openapi-security-active': 'the description has its security scheme where there is a secret',
  'openapi-server-proxy-uri': 'the description names its server relative to where it was read',
  'raw-media-types': 'functions with domains for media types take its place',
  'server-unix-socket-mode': 'the socket is made with the umask of the process',
});

/** Values with which a setting that has no counterpart changes nothing. */
export const AS_EVER: ReadonlyMap<string, RegExp> = table({
  'db-channel': /^(?:pgrst|gw)$/,
  'db-channel-enabled': /^(?:true|1)$/i,
  'db-config': /^(?:false|0)$/i,
  'db-prepared-statements': /^(?:true|1)$/i,
  'db-use-legacy-gucs': /^(?:false|0)$/i,
  'db-pool-automatic-recovery': /^(?:true|1)$/i,
  'log-query': /^(?:disabled|false|0)$/i,
});

/** The file may name anything: no name is inherited. */
function table<T>(rows: Readonly<Record<string, T>>): ReadonlyMap<string, T> {
  return new Map(Object.entries(rows));
}
