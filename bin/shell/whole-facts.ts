import type { Command } from 'commander';
import { NGINX_OPTIONS, SIGNALS } from '../options.ts';
import { commandFacts } from './command-facts.ts';
import type { CommandFacts, OptionFacts } from './command-facts.ts';

/** All commands, and the options of nginx that gw takes without one. */
export function wholeFacts(gw: Command): CommandFacts {
  const facts = commandFacts(gw);
  const choices = facts.commands.flatMap(({ path }) => path);
  const commands = facts.commands.map((command) =>
    command.path[0] === 'help' ? withChoices(command, choices) : command,
  );
  return { ...facts, options: NGINX_OPTIONS.map(optionOf), commands };
}

/** `gw help` takes whatever is a command. */
function withChoices(command: CommandFacts, choices: readonly string[]): CommandFacts {
  return { ...command, arguments: command.arguments.map((value) => ({ ...value, choices })) };
}

function optionOf({ names, value, summary }: (typeof NGINX_OPTIONS)[number]): OptionFacts {
  if (value === undefined) return { names, summary };
  const choices = value === 'signal' ? { choices: SIGNALS } : {};
  return { names, summary, value: { name: value, isRequired: true, isVariadic: false, ...choices } };
}
