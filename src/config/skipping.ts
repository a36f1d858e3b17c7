import type { ConfigTree, Report, Span } from '../../grammar/index.ts';
import type { Context } from './row.ts';

/**
 * What happens to directives and variables that gw deliberately does not support: they refuse the configuration; they are left
 * out; or (`skip`) they are left out, and what depends on them is not served.
 */
export type Compat = 'refuse' | 'ignore' | 'skip';

/** What the configuration says with `compat`, which has to be known before any other directive is read. */
export function compatOf({ directives }: ConfigTree): Compat {
  const said = directives.find(({ name }) => name.value === 'compat')?.args[0]?.value;
  return said === 'skip' ? 'skip' : 'refuse';
}

/** Directives that neither serve requests nor decide on them: they measure, log, or set something up for others. */
const HARMLESS: readonly RegExp[] = [
  /^(stream|mail)$/,
  /^(status_zone|session_log|vhost_traffic_status(?!_display)|req_status|pagespeed|google_perftools_profiles)/,
  /^(init_by_lua|init_worker_by_lua|exit_worker_by_lua|log_by_lua|lua_)/,
  /^js_(import|include|path|shared_dict_zone|engine|context_reuse|fetch_|load_|periodic|preload)/,
  /^(js_set|js_var|perl_set|perl_modules|perl_require|set_by_lua|keyval|geoip_|api_location)/,
  /^(eventport_|kqueue_|devpoll_|iocp_|queue|ntlm|state|zone_sync|xml_entities|xslt_param|xslt_string_param)/,
  /^(modern_browser|ancient_browser|upload_progress|more_set_input_headers|passenger_(root|ruby|max|min|pool))/,
];

/** A variable that a text uses, with its span. */
export interface VariableUse {
  readonly name: string;
  readonly span: Span;
}

/** Directives of headers and logs: with an empty variable they leave something out, but let nobody in. */
const TELLING = /(^|_)(log|log_format|add_header|add_trailer|set_header|more_set_headers|param|error_log)$/;

/** Whether requests of the block with this directive must not be served. */
export function isDecisive(directive: string, context: Context): boolean {
  if (
    context === 'main' ||
    context === 'events' ||
    context === 'upstream' ||
    context === 'cluster' ||
    context === 'check'
  )
    return false;
  return !HARMLESS.some((names) => names.test(directive));
}

/** What skipping a directive means for requests, as the end of a message. */
export function consequenceOf(directive: string, context: Context): string {
  if (!isDecisive(directive, context))
    return directive === 'stream' || directive === 'mail' ? 'its ports are not opened' : 'left out';
  if (context === 'http') return 'all requests get 501';
  if (context === 'server') return 'requests of this server get 501';
  return 'its requests get 501';
}

/** A use of a variable in one directive. */
export interface PlacedUse extends VariableUse {
  readonly directive: string;
  readonly context: Context;
  /** The variables that the same directive defines (`map`). */
  readonly defines: readonly string[];
  /** Makes the block of the directive one that is not served. */
  skipBlock(): void;
}

/**
 * Skips the blocks in which a directive depends on a variable that gw does not have, and reports each use. A variable that a
 * `map` makes of such a variable counts as one, too.
 */
export function skipDependents(
  uses: readonly PlacedUse[],
  { isMissing, report }: { readonly isMissing: (name: string) => boolean; readonly report: Report },
): void {
  const made = new Set<string>();
  const depends = ({ name }: PlacedUse): boolean => made.has(name) || isMissing(name);
  for (let before = -1; before < made.size;) {
    before = made.size;
    for (const use of uses.filter(depends))
      if (use.context === 'http') for (const name of use.defines) made.add(name);
  }
  for (const use of uses.filter(depends)) {
    const decides =
      isDecisive(use.directive, use.context) && use.context !== 'http' && !TELLING.test(use.directive);
    if (decides) use.skipBlock();
    const consequence = decides ? consequenceOf(use.directive, use.context) : 'it is empty';
    const what = made.has(use.name) ? 'depends on what is not supported' : 'variable is not supported';
    report.warn(`"$${use.name}" ${what}, ${consequence}`, use.span, { rule: 'unsupported-module' });
  }
}

/** The variables that a directive of another module probably defines: its words that are nothing but a variable. */
export function definedBySkipped(words: readonly string[]): readonly string[] {
  return words.flatMap((word) => /^\$(\w+)$/.exec(word)?.[1]?.toLowerCase() ?? []);
}
