import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { directives, MODULE_NAMES, variables } from '../../src/tools/lookups.ts';
import { VERSION } from '../../src/version.ts';
import { failureText } from '../terminal.ts';
import { type CommandFacts, everyCommand, type OptionFacts, synopsis, wholeFacts } from './command-facts.ts';

/** Returns a text escaped for roff. */
function roff(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^(?=[.'])/gm, '\\&')
    .replace(/\P{ASCII}/gu, (character) => `\\[u${hex(character)}]`);
}

function hex(character: string): string {
  return (character.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0');
}

/** Writes a manual page with the macros of `man`. */
class Page {
  readonly #lines: string[] = [];

  constructor(title: { readonly name: string; readonly section: number; readonly version: string }) {
    const { name, section, version } = title;
    this.#lines.push(`.TH "${roff(name.toUpperCase())}" "${section}" "" "gw ${version}" "gw"`);
  }

  section(title: string): void {
    this.#lines.push(`.SH "${roff(title)}"`);
  }

  subsection(title: string): void {
    this.#lines.push(`.SS "${roff(title)}"`);
  }

  /** Writes the first paragraph of a section. */
  paragraph(text: string): void {
    this.#lines.push(roff(text));
  }

  /** Writes `name - summary`, as apropos expects it. */
  name(name: string, summary: string): void {
    this.section('NAME');
    this.#lines.push(`${roff(name)} \\- ${roff(summary)}`);
  }

  /** Writes lines verbatim. */
  literal(lines: readonly string[]): void {
    this.#lines.push('.nf', ...lines.map(roff), '.fi');
  }

  /** Writes a term in bold and its description, line by line. */
  term(term: string, lines: readonly string[]): void {
    this.#lines.push('.TP', `\\fB${roff(term)}\\fR`);
    for (const [at, line] of lines.entries()) this.#lines.push(...(at === 0 ? [] : ['.br']), roff(line));
  }

  text(): string {
    return this.#lines.map((line) => `${line}\n`).join('');
  }
}

/** A manual page and its file: `gw-jwt-sign.1`. */
interface ManualPage {
  readonly file: string;
  readonly text: string;
}

/** Returns the whole manual: gw(1), a page for each command, and gw.conf(5) with every directive and variable. */
export function manual(gw: CommandFacts): readonly ManualPage[] {
  const pages = [...everyCommand(gw)].map((command) => ({
    file: `${nameOf(command)}.1`,
    text: commandPage(command),
  }));
  return [...pages, { file: 'gw.conf.5', text: configPage() }];
}

function nameOf({ path }: Pick<CommandFacts, 'path'>): string {
  return ['gw', ...path].join('-');
}

function commandPage(command: CommandFacts): string {
  const { path, summary, options, commands } = command;
  const page = new Page({ name: nameOf(command), section: 1, version: VERSION });
  page.name(nameOf(command), withoutStop(summary));
  page.section('SYNOPSIS');
  page.literal(path.length === 0 ? ['gw [options]', 'gw <command> [arguments]'] : [synopsis(command)]);
  if (path.length === 0) {
    page.section('DESCRIPTION');
    page.paragraph(
      'gw is an HTTP gateway that a configuration in the language of nginx decides. Without a command it takes the options of nginx, and runs.',
    );
  } else if (command.arguments.some(({ choices }) => choices)) {
    page.section('ARGUMENTS');
    for (const { name, choices } of command.arguments) if (choices) page.term(name, [choices.join(', ')]);
  }
  page.section('OPTIONS');
  for (const option of options) page.term(flags(option), optionLines(option));
  if (commands.length > 0) page.section('COMMANDS');
  for (const inner of commands) page.term(`${nameOf(inner)}(1)`, [inner.summary]);
  page.section('SEE ALSO');
  page.paragraph(seeAlso(command));
  return page.text();
}

function flags({ names, value }: OptionFacts): string {
  const suffix = value === undefined ? '' : value.isRequired ? ` ${value.name}` : ` [${value.name}]`;
  return names.join(', ') + suffix;
}

function optionLines({ summary, value, default: fallback }: OptionFacts): readonly string[] {
  const choices = value?.choices === undefined ? [] : [`One of: ${value.choices.join(', ')}.`];
  const otherwise = fallback === undefined ? [] : [`Default: ${fallback}.`];
  return [summary, ...choices, ...otherwise];
}

function seeAlso({ path }: CommandFacts): string {
  const above = path.map((_, at) => `${nameOf({ path: path.slice(0, at) })}(1)`);
  return [...above, 'gw.conf(5)'].join(', ');
}

function withoutStop(text: string): string {
  return text.replace(/\.$/, '');
}

function configPage(): string {
  const page = new Page({ name: 'gw.conf', section: 5, version: VERSION });
  page.name('gw.conf', 'configuration of gw');
  page.section('DESCRIPTION');
  page.paragraph(
    'The language is that of nginx: a directive is a name and its words up to a semicolon, or up to a block in braces. ' +
      '${env:NAME}, ${env:NAME:-default} and ${file:path} stand for a variable of the environment and the content of a file.',
  );
  page.section('DIRECTIVES');
  const facts = directives();
  for (const module of MODULE_NAMES) {
    const own = facts.filter((each) => each.module === module);
    if (own.length > 0) page.subsection(module);
    for (const { syntax, summary, contexts, default: fallback, repeatable, accepted } of own) {
      page.term(syntax, [
        accepted === undefined ? summary : `${summary} Without effect here: ${accepted}.`,
        `Context: ${contexts.join(', ')}.`,
        ...(fallback === undefined ? [] : [`Default: ${fallback}.`]),
        ...(repeatable ? ['May be repeated.'] : []),
      ]);
    }
  }
  page.section('VARIABLES');
  for (const { name, summary } of variables()) page.term(`$${name}`, [summary]);
  page.section('SEE ALSO');
  page.paragraph('gw(1), gw-why(1), gw-check(1)');
  return page.text();
}

/** A command as programs get it. */
function withSynopsis(command: CommandFacts): object {
  return { ...command, synopsis: synopsis(command), commands: command.commands.map(withSynopsis) };
}

/** Options of `gw manpage`. */
export interface ManpageOptions {
  readonly out?: string;
  readonly json?: boolean;
}

/**
 * `gw manpage [NAME]`: prints a manual page or the facts that pages are made of, or writes all to a directory. Exit code 1: they cannot be written; 2:
 * there is no such page.
 */
export function manpage(name: string | undefined, { out, json }: ManpageOptions, gw: Command): number {
  const facts = wholeFacts(gw);
  if (json === true) {
    process.stdout.write(`${JSON.stringify(withSynopsis(facts), undefined, 2)}\n`);
    return 0;
  }
  const pages = manual(facts);
  const wanted = pages.filter(({ file }) =>
    [file, file.replace(/\.\d$/, '')].includes(name ?? (out === undefined ? 'gw' : file)),
  );
  if (wanted.length === 0) {
    process.stderr.write(
      `gw: there is no page "${name}"\n  expected gw, gw.conf, or a command such as gw-check\n`,
    );
    return 2;
  }
  if (out === undefined) {
    for (const { text } of wanted) process.stdout.write(text);
    return 0;
  }
  try {
    mkdirSync(out, { recursive: true });
    for (const { file, text } of wanted) writeFileSync(join(out, file), text);
    return 0;
  } catch (error) {
    process.stderr.write(`gw: ${failureText(error)}\n`);
    return 1;
  }
}
