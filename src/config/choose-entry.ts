import type { DirectiveNode, Fix, Report, Word } from '../../grammar/index.ts';
import { nearest, renaming } from './nearest.ts';
import type { Entry, Registry } from './registry.ts';
import type { AnyRow, Context } from './row.ts';

/** The reason for refusing a directive of nginx. */
interface Refusal {
  /** Completes `"directive" directive is …`. */
  readonly is: string;
  readonly reason?: string;
}

/** Directives that gw does not support, with the reason or an alternative. */
const NOT_SUPPORTED: readonly (readonly [RegExp, string])[] = [
  [/^tunnel_/, 'gw does not speak this protocol to its upstreams'],
  [/^redis2?_/, 'use kv_pass'],
  [/^(stream|mail)$/, 'gw serves HTTP only: run this block in another server'],
  [/^echo_/, 'of the echo module gw has "echo" only'],
  [/_by_lua(_block|_file)?$|^lua_/, 'Lua is not available in gw'],
  [/^js_(?!shared_dict_zone$)/, 'njs is not available in gw'],
  [/^perl(_|$)/, 'Perl is not available in gw'],
  [/^(dav_|create_full_put_path$|min_delete_depth$)/, 'WebDAV is not available in gw'],
  [/^geoip(_|$)/, 'its databases are no longer made: use geoip2'],
  [/^(image_filter|xslt_|xml_entities$|mp4|flv|hls|f4f)/, 'this nginx module is not available in gw'],
  [
    /^(modern_browser|ancient_browser|google_perftools_profiles|degrad|eventport_|kqueue_|devpoll_|iocp_)/,
    'this nginx module is not available in gw',
  ],
  [
    /^(status_zone|api|state|queue|ntlm|session_log|auth_jwt|zone_sync|keyval|internal_redirect|mgmt)(_|$)/,
    'it belongs to the commercial nginx',
  ],
  [
    /^(more_(set|clear)_input_headers$)/,
    'headers of requests are set towards upstreams only: use proxy_set_header',
  ],
  [
    /^(zstd|vhost_traffic_status|modsecurity|upload_|pagespeed|auth_pam|nchan_|rds_|drizzle_|postgres_|push_stream|passenger)/,
    'this third-party nginx module is not available in gw',
  ],
];

/** Directives of nginx's own modules that gw may support later. A directive that has a row is never looked up here. */
const NGINX = /^(ssi(_\w+)?|subrequest_output_buffer_size)$/;

/** Variables of nginx that this version of gw does not have. */
const NGINX_VARIABLES = /^((geoip|jwt|grpc)_\w+|modern_browser|ancient_browser|msie)$/;

/** The reason for refusing a directive of nginx or of a common third-party module; `undefined` if the name is unknown. */
export function refusalOf(directive: string): Refusal | undefined {
  const reason = NOT_SUPPORTED.find(([names]) => names.test(directive))?.[1];
  if (reason !== undefined) return { is: 'not supported', reason };
  return NGINX.test(directive) ? { is: 'not available in this version of gw' } : undefined;
}

/** Whether nginx has a variable of this name. Variables that gw has are never looked up here. */
export function isNginxVariable(name: string): boolean {
  return NGINX_VARIABLES.test(name);
}

interface ChoiceOptions {
  readonly registry: Registry;
  readonly report: Report;
  /** True: directives that gw does not support are left out instead of refused. */
  readonly skipUnsupported?: boolean | undefined;
}

/** The row of a directive in a context. Reports an unknown name, a wrong context, a wrong shape or arity. */
export function chooseEntry(
  node: DirectiveNode,
  context: Context,
  choosing: ChoiceOptions,
): Entry | undefined {
  const { registry, report } = choosing;
  const name = node.name.value;
  const rows = registry.named(name);
  if (rows.length === 0) return reportUnknown(node, context, choosing);
  const entry = rows.find(({ row }) => row.contexts.includes(context));
  if (!entry) {
    const legal = contextsText(
      rows.flatMap(({ row }) => row.contexts),
      registry,
    );
    report.emerg(`"${name}" directive is not allowed here`, node.name.span, {
      rule: 'wrong-context',
      hint: `allowed in: ${legal}`,
    });
    return undefined;
  }
  return hasRightShape(node, entry, report) ? entry : undefined;
}

/** A list of contexts for messages; contexts that no directive opens are left out. */
export function contextsText(contexts: readonly Context[], registry: Registry): string {
  return [...new Set(contexts)]
    .filter((context) => registry.contexts.has(context))
    .map(contextName)
    .join(', ');
}

function contextName(context: Context): string {
  return context.endsWith(' if') ? `if in ${context.slice(0, -3)}` : context;
}

/** The syntax of a row as the reference prints it, without the semicolon. */
export function syntaxOf(name: string, row: AnyRow): string {
  if ('data' in row) return `${name} ${row.syntax}`;
  const words = [name, row.args.syntax].filter(Boolean).join(' ');
  return 'opens' in row ? `${words} { ... }` : words;
}

function reportUnknown(
  node: DirectiveNode,
  context: Context,
  { registry, report, skipUnsupported = false }: ChoiceOptions,
): undefined {
  const name = node.name.value;
  const refusal = refusalOf(name);
  if (refusal) {
    const level = skipUnsupported ? 'notice' : 'emerg';
    report[level](`"${name}" directive is ${refusal.is}`, node.name.span, {
      rule: 'unsupported-module',
      hint: refusal.reason,
    });
    return;
  }
  report.emerg(`unknown directive "${name}"`, node.name.span, () => {
    const near = nearest(name, registry.legalIn(context));
    return {
      rule: 'unknown-directive',
      hint: near && `did you mean "${near}"?`,
      fix: near === undefined ? undefined : renaming(node.name.span, near),
    };
  });
}

function hasRightShape(node: DirectiveNode, { name, row }: Entry, report: Report): boolean {
  const takesBlock = 'opens' in row || 'data' in row;
  if (takesBlock && !node.block) {
    const hint = `syntax: ${syntaxOf(name, row)}`;
    report.emerg(`directive "${name}" has no opening "{"`, node.name.span, {
      rule: 'unexpected-token',
      hint,
    });
    return false;
  }
  if (!takesBlock && node.block) {
    const hint = `"${name}" takes no block`;
    report.emerg(`directive "${name}" is not terminated by ";"`, node.name.span, {
      rule: 'unexpected-token',
      hint,
    });
    return false;
  }
  const { min, max } = 'data' in row ? (row.words ?? { min: 0, max: 0 }) : row.args;
  if (node.args.length >= min && node.args.length <= max) return true;
  const at = node.args[max]?.span ?? node.name.span;
  report.emerg(`invalid number of arguments in "${name}" directive`, at, {
    rule: 'wrong-arity',
    hint: `syntax: ${syntaxOf(name, row)}`,
    fix: quoting(node.args.slice(max - 1), row),
  });
  return false;
}

/** Matches the syntax of readers whose last word is free text, which a blank has probably split. */
const FREE_TEXT = /(^|\$variable |name )(path|file|value)$|^realm|\[text\]/;

/** The fix that quotes words which were meant to be one. */
function quoting(words: readonly Word[], row: AnyRow): Fix | undefined {
  const [first, last] = [words[0], words.at(-1)];
  if (!first || !last || first === last || 'data' in row || !FREE_TEXT.test(row.args.syntax))
    return undefined;
  const { source, start } = first.span;
  const span = { source, start, end: last.span.end };
  const text = source.text.slice(start, span.end);
  if (/["'\n]/.test(text)) return undefined;
  return { title: `quote "${text}"`, safe: true, edits: [{ span, text: `"${text}"` }] };
}
