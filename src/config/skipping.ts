import type { ConfigTree, DirectiveNode, Report, Span } from '../../grammar/index.ts';
import { namesOf } from './roles.ts';
import type { AnyRow, Context } from './row.ts';

/**
 * How directives and variables that gw deliberately does not support are treated. `refuse`: they refuse the
 * configuration. `ignore`: they are left out. `skip`: they are left out, and whatever depends on them is not served.
 */
export type Compat = 'refuse' | 'ignore' | 'skip';

/** Reads `compat`, which must be known before any other directive is read. */
export function compatOf({ directives }: ConfigTree): Compat {
  const said = directives.find(({ name }) => name.value === 'compat')?.args[0]?.value;
  return said === 'skip' ? 'skip' : 'refuse';
}

/** Returns an advice if unsupported directives are the only faults of a configuration. */
export function skippingAdvice({ faults }: Report): string | undefined {
  const refusing = faults.filter(({ severity }) => severity === 'emerg');
  const helps = refusing.length > 0 && refusing.every(({ rule }) => rule === 'unsupported-module');
  return helps
    ? '--compat=skip serves what does not depend on the directives that are not supported, and responds 501 to the rest'
    : undefined;
}

/** Matches whole names. The parts on one line have a common beginning or end. */
const names = (...patterns: readonly string[]): RegExp => new RegExp(`^(?:${patterns.join('|')})$`);

/** Blocks whose ports are not opened. */
const OTHER_PORTS = names('stream', 'mail');

/**
 * Directives that only measure, log or trace: without them, every request gets the same response. A directive that is
 * listed neither here nor below decides about responses.
 */
const TELLING = names(
  'status_zone|req_status|req_status_zone|mgmt|google_perftools_profiles',
  'session_log(_zone|_format)?',
  'vhost_traffic_status(_zone|_dump|_filter|_filter_by_host|_filter_by_set_key|_filter_check_duplicate|_filter_max_node)?',
  'vhost_traffic_status_(histogram_buckets|average_method|stats_by_upstream|measure_status_codes|bypass_stats)',
  'otel_upstream_span_enable',
  'log_by_lua(_block|_file)?',
);

/**
 * Directives that only set something up for other unsupported directives, or define variables, whose uses are followed.
 * They have no effect of their own.
 */
const PREPARING = names(
  '(init|init_worker|exit_worker)_by_lua(_block|_file)?',
  'lua_(package_path|package_cpath|shared_dict|code_cache|capture_error_log|malloc_trim|sa_restart|load_resty_core)',
  'lua_(max_pending_timers|max_running_timers|thread_cache_max_entries|worker_thread_vm_pool_size|http10_buffering)',
  'lua_(regex_cache_max_entries|regex_match_limit|use_default_type|check_client_abort|need_request_body)',
  'lua_socket_(connect_timeout|send_timeout|read_timeout|send_lowat|buffer_size|pool_size|keepalive_timeout|log_errors)',
  'lua_ssl_(certificate|certificate_key|ciphers|conf_command|crl|key_log|protocols|trusted_certificate|verify_depth)',
  'js_(import|include|path|engine|context_reuse|context_reuse_max_size|preload_object|periodic|set|var)',
  'js_(shared_dict_zone|load_http_native_module)',
  'js_fetch_(buffer_size|max_response_buffer_size|ciphers|protocols|timeout|trusted_certificate|verify|verify_depth)',
  'js_fetch_(proxy|keepalive|keepalive_requests|keepalive_time|keepalive_timeout)',
  'perl_(modules|require|set)|num_map',
  'geoip_(country|city|org|proxy|proxy_recursive)|(modern|ancient)_browser(_value)?',
  'xml_entities|xslt_(param|string_param|types|last_modified)|upload_progress',
  'passenger_(root|ruby|python|nodejs|log_file|log_level|instance_registry_dir|max_pool_size|min_instances|pool_idle_time)',
  'kqueue_(changes|events)|devpoll_(changes|events)|eventport_events',
);

function isHarmless(directive: string): boolean {
  return [OTHER_PORTS, TELLING, PREPARING].some((list) => list.test(directive));
}

/** Contexts from which no location inherits. */
const APART: ReadonlySet<Context> = new Set<Context>([
  'events',
  'cluster',
  'token_issuer',
  'oidc_provider',
  'otel_exporter',
  'acme_issuer',
  'check',
]);

/** True if requests that depend on a directive can be kept from being served without it. */
export function canSkip(directive: string, context: Context): boolean {
  return isHarmless(directive) || !APART.has(context);
}

/** True if requests of the block with this directive must not be served. */
export function isDecisive(directive: string): boolean {
  return !isHarmless(directive);
}

/** Returns the consequence of skipping a directive for requests, as the end of a message. */
export function consequenceOf(directive: string, context: Context): string {
  if (OTHER_PORTS.test(directive)) return 'its ports are not opened';
  if (isHarmless(directive)) return 'left out';
  if (context === 'main' || context === 'http') return 'all requests get 501';
  if (context === 'server') return 'requests of this server get 501';
  return context === 'upstream' ? 'requests to this upstream get 501' : 'its requests get 501';
}

/** Names of headers that browsers, caches or proxies act on. */
const ACTING = /^x-(accel|cache|content|dns|download|frame|permitted|robots|sendfile|ua|webkit|xss)/i;

/**
 * True if a response header only informs: one of the form `X-…`, except the known ones above. Others may control
 * whether a response is shared or shown (`Cache-Control`, `Content-Security-Policy`).
 */
export function isTellingHeader(name: string): boolean {
  return /^x-/i.test(name) && !ACTING.test(name);
}

/** Directives whose first word is the key to look up. */
const KEYED = names('num_map');

/** The variables that a directive of another module probably defines: its words that consist of a variable only. */
export function definedBySkipped({ name, args }: DirectiveNode): readonly string[] {
  if (TELLING.test(name.value)) return [];
  const written = KEYED.test(name.value) ? args.slice(1) : args;
  return written.flatMap(({ value }) => /^\$(\w+)$/.exec(value)?.[1]?.toLowerCase() ?? []);
}

/** A variable that a text uses, with its span. */
export interface VariableUse {
  readonly name: string;
  readonly span: Span;
}

/** A directive, with the variables that its words use and that it defines. */
export interface PlacedDirective {
  readonly node: DirectiveNode;
  readonly row: AnyRow;
  readonly context: Context;
  readonly uses: readonly VariableUse[];
  /** Not those that it only assigns (`set`). */
  readonly defines: readonly string[];
  /** Makes sure that requests do not depend on the directive; messages name `cause`. */
  close(cause: VariableUse): void;
}

interface Missing {
  /** True if gw does not have the variable. */
  isMissing(variable: string): boolean;
  readonly report: Report;
}

/** A use of a name that depends on something unsupported. */
interface MissingUse extends VariableUse {
  readonly kind: string;
}

/**
 * Closes the directives that depend on variables that gw does not have, and reports each use. A variable, a zone or
 * another name that is made of such a variable counts as missing, too. Directives decide about responses unless their
 * rows say otherwise (`tells`).
 */
export function skipDependents(directives: readonly PlacedDirective[], missing: Missing): void {
  const made = new Set<string>();
  const missingIn = ({ uses, row, node: { args } }: PlacedDirective): readonly MissingUse[] =>
    [...uses.flatMap((use) => ({ ...use, kind: 'variable' })), ...namesOf(row, args, 'use')].filter(
      ({ kind, name }) => made.has(`${kind} ${name}`) || (kind === 'variable' && missing.isMissing(name)),
    );
  for (let before = -1; before < made.size;) {
    before = made.size;
    for (const directive of directives)
      if (!tells(directive) && missingIn(directive).length > 0)
        for (const name of definedBy(directive)) made.add(name);
  }
  for (const directive of directives)
    for (const use of missingIn(directive)) {
      const consequence = skipDependent(directive, use);
      const isMade = made.has(`${use.kind} ${use.name}`);
      missing.report.warn(`${textOf(use)} ${isMade ? MADE : NOT_THERE}, ${consequence}`, use.span, {
        rule: 'unsupported-module',
      });
    }
}

const MADE = 'depends on what is not supported';
const NOT_THERE = 'variable is not supported';

function textOf({ kind, name }: MissingUse): string {
  return kind === 'variable' ? `"$${name}"` : `${kind} "${name}"`;
}

function tells({ row, node: { args } }: PlacedDirective): boolean {
  return typeof row.tells === 'function' ? row.tells(args) : row.tells === true;
}

/** Closes a directive. Returns the consequence for a message. */
function skipDependent(directive: PlacedDirective, use: MissingUse): string {
  const { node, context } = directive;
  if (tells(directive)) return 'it is empty';
  if (definesOnly(directive)) return 'what depends on it gets 501';
  directive.close({ ...use, name: use.kind === 'variable' ? `$${use.name}` : use.name });
  if (context === 'upstream') return consequenceOf(node.name.value, context);
  return context === 'http' || context === 'server'
    ? 'requests that depend on it get 501'
    : 'its requests get 501';
}

/** The names that a directive defines, each with its kind. */
function definedBy({ row, defines, node: { args } }: PlacedDirective): readonly string[] {
  const others = namesOf(row, args, 'definition').filter(({ kind }) => kind !== 'variable');
  return [...defines.map((name) => `variable ${name}`), ...others.map(({ kind, name }) => `${kind} ${name}`)];
}

/** True if a directive acts only through the names that it defines, as those of `http` do (`map`, `limit_req_zone`). */
function definesOnly(directive: PlacedDirective): boolean {
  return directive.row.contexts.every((context) => context === 'http') && definedBy(directive).length > 0;
}
