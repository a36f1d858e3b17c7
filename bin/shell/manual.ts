import { directives, MODULE_NAMES, variables } from '../../src/lookups.ts';
import { VERSION } from '../../src/version.ts';
import type { CommandFacts, OptionFacts } from './command-facts.ts';
import { everyCommand, synopsis } from './command-facts.ts';
import { Page } from './roff.ts';

/** One page: `gw-jwt-sign.1`. */
export interface ManualPage {
  readonly file: string;
  readonly text: string;
}

/** The whole manual: gw(1), a page for each command, and gw.conf(5) with every directive and variable. */
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
