import type { Argument, Command, Option } from 'commander';
import { NGINX_OPTIONS, SIGNALS } from '../options.ts';

/** A command with its subcommands. */
export interface CommandFacts {
  /** The words after `gw`; empty for gw itself. */
  readonly path: readonly string[];
  readonly summary: string;
  readonly arguments: readonly ValueFacts[];
  readonly options: readonly OptionFacts[];
  readonly commands: readonly CommandFacts[];
}

/** An argument, or the value of an option. */
export interface ValueFacts {
  readonly name: string;
  readonly isRequired: boolean;
  readonly isVariadic: boolean;
  /** The possible values; absent: any. */
  readonly choices?: readonly string[];
}

export interface OptionFacts {
  /** `-c`, `--config`. */
  readonly names: readonly string[];
  readonly summary: string;
  /** Absent if the option is a flag. */
  readonly value?: ValueFacts;
  readonly default?: string;
}

const HELP: OptionFacts = { names: ['-h', '--help'], summary: 'show this help' };

/** Returns the facts about a command and its subcommands. */
function commandFacts(command: Command, path: readonly string[] = []): CommandFacts {
  return {
    path,
    summary: command.description(),
    arguments: command.registeredArguments.map(argumentFacts),
    options: [...command.options.filter(({ hidden }) => !hidden).map(optionFacts), HELP],
    commands: command.commands.map((inner) => commandFacts(inner, [...path, inner.name()])),
  };
}

/** Yields a command and all its subcommands. */
export function* everyCommand(command: CommandFacts): Generator<CommandFacts> {
  yield command;
  for (const inner of command.commands) yield* everyCommand(inner);
}

function argumentFacts(argument: Argument): ValueFacts {
  return {
    name: argument.name(),
    isRequired: argument.required,
    isVariadic: argument.variadic,
    ...(argument.argChoices && { choices: argument.argChoices }),
  };
}

function optionFacts(option: Option): OptionFacts {
  const { short, long, flags, description, required, optional, variadic, argChoices, defaultValue } = option;
  const [, name] = /[<[]([^\]>.]+)/.exec(flags) ?? [];
  const value = name !== undefined && { name, isRequired: required && !optional, isVariadic: variadic };
  const isShown = typeof defaultValue === 'string' && defaultValue !== '' && value;
  return {
    names: [short, long].filter((each) => each !== undefined),
    summary: description,
    ...(value && { value: { ...value, ...(argChoices && { choices: argChoices }) } }),
    ...(isShown && { default: defaultValue }),
  };
}

/** Returns the synopsis of a command: `gw jwt sign [options] [payload]`. */
export function synopsis({ path, arguments: values, options, commands }: CommandFacts): string {
  const words = values.map(({ name, isRequired, isVariadic }) => {
    const word = isVariadic ? `${name}...` : name;
    return isRequired ? `<${word}>` : `[${word}]`;
  });
  const isGroup = commands.length > 0;
  return [
    'gw',
    ...path,
    ...(options.length > 1 ? ['[options]'] : []),
    ...(isGroup ? ['<command>'] : []),
    ...words,
  ].join(' ');
}

/** Returns the facts about all commands, and about the options without a command. */
export function wholeFacts(gw: Command): CommandFacts {
  const facts = commandFacts(gw);
  const choices = facts.commands.flatMap(({ path }) => path);
  const commands = facts.commands.map((command) =>
    command.path[0] === 'help' ? withChoices(command, choices) : command,
  );
  return { ...facts, options: NGINX_OPTIONS.map(optionOf), commands };
}

/** Adds the choices of the arguments: `gw help` takes the name of any command. */
function withChoices(command: CommandFacts, choices: readonly string[]): CommandFacts {
  return { ...command, arguments: command.arguments.map((value) => ({ ...value, choices })) };
}

function optionOf({ names, value, summary }: (typeof NGINX_OPTIONS)[number]): OptionFacts {
  if (value === undefined) return { names, summary };
  const choices = value === 'signal' ? { choices: SIGNALS } : {};
  return { names, summary, value: { name: value, isRequired: true, isVariadic: false, ...choices } };
}
