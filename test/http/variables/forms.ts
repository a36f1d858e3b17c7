import { type ConfigTree, loadTree, Report } from '../../../grammar/index.ts';
import { type AnyRow, bind, type Context, type DirectiveEntry, Registry } from '../../../src/config/index.ts';
import { MODULES } from '../../../src/modules/index.ts';

const registry = new Registry(MODULES);

/** A way to write a directive with a variable in it. */
export interface Form {
  readonly directive: string;
  /** The module of the directive. */
  readonly module: string;
  readonly context: Context;
  readonly text: string;
}

/** Words that make other words of a directive legal. */
const FILLERS = ['x', '/x', '404', 'on', '~x', '$own'];

/** Directives whose words have a shape of their own. */
const SHAPES: Readonly<Record<string, readonly string[]>> = {
  access_log: ['logs/$probe', 'logs/x if=$probe'],
  feature_flag: ['$own x key=$probe'],
  if: ['($probe)', '($probe = x)', '($uri = $probe)', '(-f $probe)'],
  keyval: ['$probe $own zone=keyvals'],
  limit_conn_zone: ['$probe zone=own:1m'],
  limit_req_zone: ['$probe zone=own:1m rate=1000r/s'],
  log_format: ['own $probe', 'own escape=json $probe'],
  quota: ['zone=quotas cost=$probe'],
  quota_zone: ['$probe zone=own:1m limit=1000/second'],
  proxy_cookie_flags: ['x $probe', '$probe secure'],
  more_set_headers: ['"X-A: $probe"'],
  proxy_pass: ['$probe', 'http://$probe', 'http://127.0.0.1:1/$probe'],
  rewrite: ['^ /x$probe', '^ /x?$probe last', '^ http://127.0.0.1:1/$probe'],
};

/** Blocks of data, and what stands in front of them. */
const BLOCKS = [
  '$probe $own { x x; }',
  '$probe $own { default x; }',
  '$uri $own { default $probe; }',
  '$probe $own { * x; }',
];

const WORDS_AT_MOST = 3;

const around: Readonly<Partial<Record<Context, (text: string) => string>>> = {
  http: (text) => `${text} server { }`,
  upstream: (text) => `upstream u { ${text} server 127.0.0.1:1; } server { }`,
  server: (text) => `server { ${text} }`,
  location: (text) => `server { location / { ${text} } }`,
};

/** Every form in which some context accepts the variable `$probe` in a directive, found by loading each of them. */
export function findForms(): readonly Form[] {
  const forms = new Map<string, Form>();
  for (const entry of registry.entries) {
    const context = (['location', 'upstream', 'server', 'http'] as const).find((each) =>
      entry.row.contexts.includes(each),
    );
    if (!context || 'accepted' in entry.row) continue;
    for (const form of formsOf(entry, context)) forms.set(form.text, form);
  }
  return [...forms.values()];
}

function formsOf({ name, owner, row }: DirectiveEntry, context: Context): Form[] {
  const tried = [...new Map([...candidates(name, row)].map((one) => [one.text, one])).values()];
  const trees = treesOf(
    tried.map(({ text }) => text),
    context,
  );
  const found: Form[] = [];
  const places = new Set<string>();
  for (const [nth, { place, text }] of tried.entries()) {
    if (places.has(place) || !takesVariable(trees[nth]!)) continue;
    places.add(place);
    found.push({ directive: name, module: owner, context, text });
  }
  return found;
}

interface Candidate {
  /** The forms are searched for only once. */
  readonly place: string;
  readonly text: string;
}

function* candidates(name: string, row: AnyRow): Generator<Candidate> {
  const end = 'opens' in row ? ' { }' : ';';
  const shapes = 'data' in row ? BLOCKS : SHAPES[name];
  if (shapes) {
    for (const shape of shapes) yield { place: shape, text: `${name} ${shape}${'data' in row ? '' : end}` };
    return;
  }
  if ('data' in row) return;
  const { min, max, syntax } = row.args;
  const named = [...syntax.matchAll(/\b(\w+=)/g)].map(([, word]) => word as string);
  for (let count = Math.max(min, 1); count <= Math.min(max, WORDS_AT_MOST); count++)
    for (let at = 0; at < count; at++)
      for (const prefix of ['', '/', 'x', ...named])
        for (const others of fillings(count - 1))
          yield {
            place: `${at === 0 ? 'first' : 'later'} ${prefix.length > 1 ? prefix : ''}`,
            text: `${name} ${[...others.slice(0, at), `${prefix}$probe`, ...others.slice(at)].join(' ')}${end}`,
          };
}

function* fillings(count: number): Generator<string[]> {
  if (count === 0) return yield [];
  for (const rest of fillings(count - 1)) for (const word of FILLERS) yield [word, ...rest];
}

/** The tree of each text, parsed at once. */
function treesOf(texts: readonly string[], context: Context): readonly ConfigTree[] {
  const report = new Report();
  const text = texts.map((each) => `http { ${around[context]?.(each) ?? ''} }`).join('\n');
  const tree = loadTree({ file: '/etc/gw/gw.conf', name: 'gw.conf', env: {}, report, text });
  if (!tree || report.failed) throw new Error(report.faults[0]?.message);
  return tree.directives.map((http) => ({ ...tree, directives: [http] }));
}

function takesVariable(tree: ConfigTree): boolean {
  const report = new Report();
  const { uses } = bind(tree, { registry, report, confDir: '/etc/gw', prefix: '/etc/gw', compat: 'refuse' });
  return !report.failed && uses.some(({ name }) => name === 'probe');
}
