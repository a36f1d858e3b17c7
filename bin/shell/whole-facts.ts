import type { Command } from 'commander';
import { NGINX_OPTIONS, SIGNALS } from '../options.ts';
import { commandFacts } from './command-facts.ts';
import type { CommandFacts, OptionFacts } from './command-facts.ts';

/** All commands, and the options of nginx that gw takes without one. */
export function wholeFacts(gw: Command): CommandFacts {
  return { ...commandFacts(gw), options: NGINX_OPTIONS.map(optionOf) };
}

function optionOf({ names, value, summary }: (typeof NGINX_OPTIONS)[number]): OptionFacts {
  if (value === undefined) return { names, summary };
  const choices = value === 'signal' ? { choices: SIGNALS } : {};
  return { names, summary, value: { name: value, isRequired: true, isVariadic: false, ...choices } };
}
