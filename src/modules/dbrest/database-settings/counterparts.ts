/** A directive that means the same as a setting of PostgREST. */
interface Counterpart {
  readonly directive: string;
  /** The words of the directive; `undefined`: the value is no value of the setting. */
  readonly words: (value: string) => readonly string[] | undefined;
  /** What would be a value. */
  readonly expected?: string;
}

const same = (value: string): readonly string[] => [value];

function flag(value: string): readonly string[] | undefined {
  if (/^(?:true|on|1)$/i.test(value)) return ['on'];
  return /^(?:false|off|0)$/i.test(value) ? ['off'] : undefined;
}

/** PostgREST knows no quotes in lists of names: they are part of the name. */
function names(value: string): readonly string[] {
  const quoted = value
    .split(',')
    .map((name) => name.trim())
    .map((name) => (name.includes('"') ? `"${name.replaceAll('"', '""')}"` : name));
  return [quoted.join(', ')];
}

const flagOf = (directive: string): Counterpart => ({ directive, words: flag, expected: 'true or false' });

/** By name, without the prefix `pgrst.`. */
export const COUNTERPARTS: ReadonlyMap<string, Counterpart> = new Map<string, Counterpart>([
  ['client_error_verbosity', { directive: 'dbrest_error_verbosity', words: same }],
  ['db_aggregates_enabled', flagOf('dbrest_aggregates')],
  ['db_anon_role', { directive: 'dbrest_anon_role', words: same }],
  ['db_extra_search_path', { directive: 'dbrest_extra_search_path', words: names }],
  ['db_max_rows', { directive: 'dbrest_max_rows', words: same }],
  ['db_plan_enabled', flagOf('dbrest_plan')],
  ['db_pre_request', { directive: 'dbrest_pre_request', words: same }],
  ['db_root_spec', { directive: 'dbrest_root', words: same }],
  ['db_schemas', { directive: 'dbrest_schemas', words: names }],
  ['db_tx_end', { directive: 'dbrest_tx_end', words: same }],
  [
    'jwt_aud',
    {
      directive: 'dbrest_jwt_audience',
      words: (value) => (value === '' ? undefined : [value]),
      expected: 'an audience',
    },
  ],
  ['jwt_role_claim_key', { directive: 'dbrest_jwt_role_claim', words: same }],
  ['jwt_secret', { directive: 'dbrest_jwt_secret', words: same }],
  ['openapi_mode', { directive: 'dbrest_openapi', words: (value) => [value === 'disabled' ? 'off' : value] }],
  ['openapi_server_proxy_uri', { directive: 'dbrest_openapi_server', words: same }],
  [
    'server_cors_allowed_origins',
    { directive: 'dbrest_cors_origins', words: (value) => value.split(',').map((origin) => origin.trim()) },
  ],
  ['server_timing_enabled', flagOf('dbrest_server_timing')],
  ['server_trace_header', { directive: 'dbrest_trace_header', words: same }],
  ['url_use_legacy_target_names', flagOf('dbrest_legacy_target_names')],
]);

const AT_START = 'it cannot change while the gateway runs';
const NO_COUNTERPART = 'gw has nothing that it would change';

/** Settings of PostgREST that have no effect here, and why. */
export const WITHOUT_EFFECT: ReadonlyMap<string, string> = new Map([
  ...`admin_server_host admin_server_port db_channel db_channel_enabled db_config db_pool db_pool_acquisition_timeout
    db_pool_max_idletime db_pool_max_lifetime db_uri log_level server_host server_port server_unix_socket
    server_unix_socket_mode`
    .split(/\s+/)
    .map((name) => [name, AT_START] as const),
  ...`db_hoisted_tx_settings db_pool_automatic_recovery db_prepared_statements db_timezone_enabled db_use_legacy_gucs
    jwt_cache_max_entries jwt_cache_max_lifetime jwt_cache_max_size log_query openapi_security_active raw_media_types`
    .split(/\s+/)
    .map((name) => [name, NO_COUNTERPART] as const),
  ['db_pre_config', 'settings come from "alter role" alone'],
]);
