import type { Word } from '../../../grammar/index.ts';
import {
  type ArgReader,
  AT,
  type ComplexValue,
  defines,
  directivesFor,
  nearest,
  readers,
  type ReadScope,
  renaming,
  uses,
} from '../../config/index.ts';
import type { ConfigReport } from '../../contract/index.ts';
import { MAX_NAME_BYTES } from './flags.ts';
import { keyvalVariable, type KeyvalVariable, keyvalZone } from './keyval/directives.ts';
import { ENDPOINTS } from './inventory.ts';
import {
  type ControlConfig,
  type DictionaryConfig,
  type FlagVariable,
  WHOLE_INVENTORY,
} from './resources.ts';

const NAMES = ENDPOINTS.map(({ name }) => name);

const api: ArgReader<string> = readers.words(
  { syntax: `[${NAMES.join(' | ')}]`, min: 0, max: 1 },
  ([word], scope) => {
    if (!word) return WHOLE_INVENTORY;
    if (NAMES.includes(word.value)) return word.value;
    const near = nearest(word.value, NAMES);
    const more =
      near === undefined
        ? `expected ${NAMES.join(', ')}`
        : { hint: `did you mean "${near}"?`, fix: renaming(word.span, near) };
    scope.report.emerg(`unknown endpoint "${word.value}" in "${scope.directive}" directive`, word.span, more);
    return undefined;
  },
);

const dictionary: ArgReader<DictionaryConfig> = readers.words(
  { syntax: 'zone=name:size [timeout=time] [evict] [cluster=name]', min: 1, max: 4 },
  (words, scope) => {
    let read: Partial<DictionaryConfig> = {};
    for (const word of words) {
      const part = readPart(word, scope);
      if (!part) return undefined;
      read = { ...read, ...part };
    }
    const { name, sizeBytes, timeoutMs = 0, evict = false, ...sharing } = read;
    if (name !== undefined && sizeBytes !== undefined)
      return { name, sizeBytes, timeoutMs, evict, ...sharing };
    scope.report.emerg(`"${scope.directive}" must have "zone" parameter`, scope.span);
    return undefined;
  },
);

function readPart(word: Word, { report }: ReadScope): Partial<DictionaryConfig> | undefined {
  if (word.value === 'evict') return { evict: true };
  const [, parameter, text = ''] = /^(zone|timeout|cluster)=(.*)$/s.exec(word.value) ?? [];
  if (parameter === 'timeout') {
    const timeoutMs = readers.parseTimeMs(text);
    if (timeoutMs !== undefined && timeoutMs > 0) return { timeoutMs };
    report.emerg(`invalid timeout value "${text}"`, word.span, 'expected a time such as 30s, 500ms or 1h30m');
    return undefined;
  }
  if (parameter === 'cluster' && text !== '') return { cluster: text };
  if (parameter !== 'zone') {
    report.emerg(
      `invalid parameter "${word.value}"`,
      word.span,
      'expected zone=, timeout=, evict or cluster=',
    );
    return undefined;
  }
  const colon = text.lastIndexOf(':');
  const name = text.slice(0, Math.max(colon, 0));
  const sizeBytes = readers.parseSize(text.slice(colon + 1));
  if (name !== '' && sizeBytes !== undefined) return { name, sizeBytes };
  report.emerg(`invalid zone "${text}"`, word.span, 'expected a name and a size, such as zone=flags:1m');
  return undefined;
}

/** Any word may give the name of a cluster. */
const CLUSTER_NAMES = [0, 1, 2, 3].flatMap((word) => uses('cluster', { word, behind: ['cluster='] }));

const flagVariable: ArgReader<FlagVariable> = readers.words(
  { syntax: '$variable name [key=value]', min: 2, max: 3 },
  (words, scope) => {
    const [variableWord, nameWord, keyWord] = words as [Word, Word, Word?];
    const variable = /^\$(\w+)$/.exec(variableWord.value)?.[1]?.toLowerCase();
    if (variable === undefined) {
      scope.report.emerg(`invalid variable name "${variableWord.value}"`, variableWord.span);
      return undefined;
    }
    if (nameWord.value === '' || Buffer.byteLength(nameWord.value) > MAX_NAME_BYTES) {
      scope.report.emerg(`a flag name has 1 to ${MAX_NAME_BYTES} bytes`, nameWord.span);
      return undefined;
    }
    if (keyWord && !keyWord.value.startsWith('key=')) {
      scope.report.emerg(`invalid parameter "${keyWord.value}"`, keyWord.span, 'expected key=value');
      return undefined;
    }
    scope.defineVariable(variable, variableWord.span);
    const key = keyWord ? withoutPrefix(scope.complexValue(keyWord)) : CLIENT;
    return { variable, flag: nameWord.value, key };
  },
);

const CLIENT: ComplexValue = { parts: [{ variable: 'remote_addr' }] };

/** Removes `key=` from a value. */
function withoutPrefix({ parts: [first, ...rest] }: ComplexValue): ComplexValue {
  const text = typeof first === 'string' ? first.slice('key='.length) : '';
  return { parts: text === '' ? rest : [text, ...rest] };
}

/** The control surface, dictionaries and feature flags. */
export const directives = directivesFor<ControlConfig>()({
  control_api: {
    contexts: ['location'],
    args: { ...api, choices: NAMES },
    into: 'api',
    inherit: 'nameless',
    summary: 'Serves one endpoint of the control surface, or all of them below the path of the location.',
    source: 'gw',
  },
  prometheus_metrics: {
    contexts: ['location'],
    args: readers.present,
    into: 'prometheus',
    inherit: 'nameless',
    summary:
      'Shows the numbers of requests by class of status, and their durations, as Prometheus text under the names of nginz. All metrics are at `control_api metrics`.',
    source: 'nginz prometheus#prometheus_metrics',
  },
  control_console: {
    contexts: ['location'],
    args: readers.flag,
    into: 'console',
    default: false,
    inherit: 'nameless',
    summary: 'Serves the console: a page that shows the state of the gateway and switches feature flags.',
    source: 'gw',
  },
  control_console_api: {
    contexts: ['location'],
    args: readers.flag,
    into: 'consoleApi',
    default: false,
    inherit: 'nameless',
    summary:
      'Lets the console try requests on REST locations as any role that they may have. Their transactions are rolled back, and each is logged.',
    source: 'gw',
  },
  control_flags_zone: {
    contexts: ['http', 'server', 'location'],
    args: readers.text,
    into: 'flagsZone',
    default: 'feature_flags',
    summary: 'The dictionary for feature flags.',
    roles: uses('dictionary'),
    source: 'gw',
  },
  control_ready_optional: {
    contexts: ['http', 'server', 'location'],
    args: readers.texts,
    into: 'readyOptional',
    summary:
      'Checks that may fail while `control_api ready` still responds with 200, by their names in its response, such as `kv:127.0.0.1:6379`; `kv:*` stands for all that begin so. Their status is then `warn`. Without it, all are required.',
    source: 'gw',
  },
  control_cross_site: {
    contexts: ['http', 'server', 'location'],
    args: readers.flag,
    into: 'crossSite',
    default: false,
    summary:
      'Accepts requests from pages of other sites and with host names that no `server_name` contains; otherwise `control_api` refuses them (403).',
    source: 'gw',
  },
  shared_dict_zone: {
    contexts: ['http'],
    args: dictionary,
    into: 'dictionaries',
    repeat: 'append',
    summary:
      'A dictionary in shared memory. If it is full, it refuses writes, or with "evict" removes the least recently used entries. With "cluster" all gateways of the cluster have its entries; what "evict" removes and what has expired each of them removes for itself.',
    roles: [...defines('dictionary', AT.zone), ...CLUSTER_NAMES],
    source: 'gw',
  },
  js_shared_dict_zone: {
    contexts: ['http'],
    args: dictionary,
    into: 'dictionaries',
    repeat: 'append',
    summary: 'The same as "shared_dict_zone".',
    roles: [...defines('dictionary', AT.zone), ...CLUSTER_NAMES],
    source: 'nginx ngx_http_js_module#js_shared_dict_zone',
  },
  keyval_zone: {
    contexts: ['http'],
    args: keyvalZone,
    into: 'dictionaries',
    repeat: 'append',
    summary:
      'A dictionary whose entries `control_api keyval` changes. "state" keeps them in a file, relative to the prefix; "sync" shares them with all gateways of the only cluster.',
    roles: defines('dictionary', AT.zone),
    source: 'nginx ngx_http_keyval_module#keyval_zone',
  },
  keyval: {
    contexts: ['http'],
    args: keyvalVariable,
    into: 'keyvals',
    repeat: 'append',
    summary:
      'A variable whose value is looked up in a keyval zone by the key: an equal one or, as "type" of the zone says, the longest one that is the network of the address or the beginning of the text.',
    roles: [...uses('dictionary', AT.zone), ...defines('variable', AT.secondVariable)],
    source: 'nginx ngx_http_keyval_module#keyval',
  },
  feature_flag: {
    contexts: ['http'],
    args: flagVariable,
    into: 'flags',
    repeat: 'append',
    summary:
      'A variable that is 1 if the flag is on for the request, else 0; for a partial rollout the key decides, by default the address of the client.',
    roles: defines('variable', AT.variable),
    source: 'gw',
  },
});

const DUPLICATE = 'duplicate-directive';

/** Checks the directives of one location against one another. */
export function validate(config: ControlConfig, report: ConfigReport<ControlConfig>): void {
  const { dictionaries = [], flags = [], keyvals = [], flagsZone, console, consoleApi } = config;
  if (consoleApi && !console) report.on('consoleApi', 'requires "control_console on"');
  const names = new Set<string>();
  for (const [index, { name }] of dictionaries.entries()) {
    if (names.has(name))
      report.phrase('dictionaries', `duplicate dictionary "${name}"`, { index, rule: DUPLICATE });
    names.add(name);
  }
  if (!names.has(flagsZone)) {
    const predicate = `requires "shared_dict_zone zone=${flagsZone}:1m"`;
    const more = {
      rule: 'bad-reference',
      hint: 'the http block declares the dictionary that holds the flags',
    };
    if (needsFlags(config)) report.on('api', predicate, more);
    if (flags.length > 0) report.on('flags', predicate, more);
  }
  for (const [index, { zone }] of keyvals.entries()) {
    if (!names.has(zone))
      report.phrase('keyvals', `zero size shared memory zone "${zone}"`, {
        index,
        rule: 'bad-reference',
        hint: `declare it: keyval_zone zone=${zone}:1m`,
      });
  }
  checkVariables({ flags, keyvals }, report);
}

function needsFlags({ api }: ControlConfig): boolean {
  if (api === undefined) return false;
  return api === WHOLE_INVENTORY || ENDPOINTS.some(({ name, needsFlags: needs }) => needs && name === api);
}

/** A variable with a key, which other such variables may be in. */
type KeyedVariable = Pick<FlagVariable | KeyvalVariable, 'variable' | 'key'>;

function checkVariables(
  all: Readonly<Record<'flags' | 'keyvals', readonly KeyedVariable[]>>,
  report: ConfigReport<ControlConfig>,
): void {
  const byVariable = new Map<string, KeyedVariable>();
  const fields = ['flags', 'keyvals'] as const;
  for (const field of fields) {
    for (const [index, keyed] of all[field].entries()) {
      const { variable } = keyed;
      if (byVariable.has(variable))
        report.phrase(field, `the duplicate "${variable}" variable`, { index, rule: DUPLICATE });
      byVariable.set(variable, keyed);
    }
  }
  for (const field of fields) {
    for (const [index, { variable }] of all[field].entries()) {
      if (reaches(variable, variable, byVariable))
        report.phrase(field, `the key of "$${variable}" depends on "$${variable}" itself`, { index });
    }
  }
}

/** Tells whether the key of `from` uses `target`, directly or through the keys of other flags. */
function reaches(from: string, target: string, byVariable: ReadonlyMap<string, KeyedVariable>): boolean {
  const seen = new Set<string>();
  const waiting = [from];
  for (let variable = waiting.pop(); variable !== undefined; variable = waiting.pop()) {
    const used = keyVariables(byVariable.get(variable));
    if (used.includes(target)) return true;
    waiting.push(...used.filter((name) => !seen.has(name)));
    for (const name of used) seen.add(name);
  }
  return false;
}

function keyVariables(flag: KeyedVariable | undefined): string[] {
  return (flag?.key.parts ?? []).flatMap((part) =>
    typeof part === 'object' && 'variable' in part ? [part.variable] : [],
  );
}
