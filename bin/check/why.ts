import { type DirectiveFacts, nearest, refusalOf } from '../../src/config/index.ts';
import type { Example, MadeFile, Rule } from '../../src/contract/index.ts';
import { directives, type VariableFacts, variables } from '../../src/tools/lookups.ts';
import { type Catalogue, ruleCatalogue } from '../../src/pipeline.ts';
import { columns, fail } from '../terminal.ts';

let catalogue: Catalogue;

/** Options of `gw why`. */
export interface WhyOptions {
  readonly json?: boolean;
  readonly format?: string;
  /** True: list all rules. */
  readonly list?: boolean;
}

/** `gw why NAME`: explains a rule, a directive or a variable. Exit code 2: the name is unknown. */
export async function why(name: string | undefined, { json, format, list }: WhyOptions): Promise<number> {
  catalogue = await ruleCatalogue();
  if (format !== undefined && format !== 'json')
    return fail(`invalid format "${format}"\n  expected json`, 2);
  const isJson = json === true || format === 'json';
  if (list === true || (name !== undefined && PREFIX.test(name))) return listRules(name, isJson);
  if (name === undefined) return fail('name a rule, a directive or a variable; --list shows all rules', 2);
  const known = knownAs(name);
  if (Object.values(known).every((found) => found.length === 0)) {
    return fail(reasonOf(name), 2);
  }
  if (isJson) return print(asJson({ ...known, rules: known.rules.map(ruleFacts) }));
  const { rules, directives: found, variables: read } = known;
  return print([...rules.map(ruleText), ...found.map(directiveText), ...read.map(variableText)].join('\n'));
}

/** A prefix of rule ids, as in `--select`. */
const PREFIX = /^GW\d{0,2}$/i;

/** Lists all rules, or those that a name or prefix selects. */
function listRules(name: string | undefined, isJson: boolean): number {
  const wanted = name === undefined ? catalogue.rules : catalogue.meant(name);
  if (wanted.length === 0) return fail(`there is no rule "${name ?? ''}"`, 2);
  return print(isJson ? asJson(wanted.map(ruleFacts)) : columns(wanted.map(ruleRow)));
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

function asJson(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

interface KnownName {
  readonly rules: readonly Rule[];
  readonly directives: readonly DirectiveFacts[];
  readonly variables: readonly VariableFacts[];
}

function knownAs(name: string): KnownName {
  const bare = name.replace(/^\$/, '').toLowerCase();
  const rule = catalogue.named(/^gw\d+$/i.test(name) ? name.toUpperCase() : name);
  return {
    rules: rule ? [rule] : [],
    directives: name.startsWith('$') ? [] : directives().filter((facts) => facts.name === name),
    variables: variables().filter((facts) => isCalled(facts.name, bare)),
  };
}

function isCalled(known: string, name: string): boolean {
  return known.endsWith('*')
    ? name.startsWith(known.slice(0, -1)) && name.length >= known.length
    : known === name;
}

/** Returns the reason why a name is unknown: a directive of nginx that gw does not support, or a misspelling. */
function reasonOf(name: string): string {
  const refusal = refusalOf(name);
  if (refusal)
    return `"${name}" is ${refusal.is}${refusal.reason === undefined ? '' : `\n  ${refusal.reason}`}`;
  const near = nearestName(name);
  return `nothing is called "${name}"${near === undefined ? '' : `\n  did you mean "${near}"?`}`;
}

function nearestName(name: string): string | undefined {
  if (name.startsWith('$'))
    return nearest(
      name,
      variables().map((facts) => `$${facts.name}`),
    );
  return nearest(name, [
    ...directives().map((facts) => facts.name),
    ...catalogue.rules.flatMap(({ id, slug }) => [slug, id]),
  ]);
}

/** Returns the facts about a rule, without its check. */
function ruleFacts({ id, slug, severity, off, summary, why: reason, fix, bad, good }: Rule): object {
  return { id, slug, severity, on: off !== true, summary, why: reason, fix, bad, good };
}

function ruleRow({ id, severity, slug, summary, off }: Rule): readonly string[] {
  return [id, severity, slug, `${summary}${off === true ? ' (off by default)' : ''}`];
}

const WIDTH = 96;

function ruleText({ id, slug, severity, off, summary, why: reason, fix, bad, good }: Rule): string {
  return [
    `${id} ${slug} (${severity}${off === true ? ', off by default' : ''})`,
    `  ${summary}`,
    '',
    ...wrapped(reason),
    '',
    ...exampleLines('bad', bad),
    ...exampleLines('good', good),
    '',
    ...wrapped(`fix: ${fix}`),
    `  when it is meant: # gw-ignore ${id}: the reason\n`,
  ].join('\n');
}

function exampleLines(title: string, { in: where = 'server', text, files = {} }: Example): readonly string[] {
  const inside = where === 'main' ? '' : ` (in ${where})`;
  const beside = Object.entries(files).flatMap(([name, file]) => [`  ${name}:`, ...indented(fileText(file))]);
  return [`  ${title}${inside}:`, ...indented(text), ...beside];
}

/** Returns the text of an example's file; a generated file is described in words. */
function fileText(file: string | MadeFile): string {
  if (typeof file === 'string') return file;
  if ('text' in file) return file.text;
  if ('keyOf' in file) return `(the private key of ${file.keyOf})`;
  return `(a certificate for ${file.names.join(', ')}, good for ${file.days} days)`;
}

function indented(text: string): readonly string[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => `      ${line}`.trimEnd());
}

function wrapped(text: string): readonly string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) as string;
    if (line.length + word.length + 3 > WIDTH) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines.map((line) => `  ${line}`);
}

function variableText({ name, module, summary, settable }: VariableFacts): string {
  return `$${name} (variable of ${module})\n  ${summary}${settable ? ' "set" may change it.' : ''}\n`;
}

function directiveText(facts: DirectiveFacts): string {
  const { name, module, summary, syntax, contexts, nginx, accepted } = facts;
  const lines = [
    `${name} (directive of ${module})`,
    `  ${summary}`,
    `  syntax:  ${syntax}`,
    `  context: ${contexts.join(', ')}`,
    facts.default !== undefined && `  default: ${facts.default}`,
    facts.repeatable && '  may be repeated',
    facts.secret && '  secret: masked in dumps and logs',
    accepted !== undefined && `  no effect: ${accepted}`,
    nginx !== undefined && `  ${nginx}`,
  ];
  return `${lines.filter(Boolean).join('\n')}\n`;
}
