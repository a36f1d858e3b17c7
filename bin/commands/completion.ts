import type { Command } from 'commander';
import { bashCompletion } from '../shell/bash.ts';
import type { CommandFacts } from '../shell/command-facts.ts';
import { fishCompletion } from '../shell/fish.ts';
import { wholeFacts } from '../shell/whole-facts.ts';
import { zshCompletion } from '../shell/zsh.ts';

const WRITERS: Readonly<Record<string, (gw: CommandFacts) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};

/** `gw completion SHELL`: prints the script that makes a shell complete command lines of gw. */
export function completion(shell: string, gw: Command): number {
  process.stdout.write((WRITERS[shell] as (gw: CommandFacts) => string)(wholeFacts(gw)));
  return 0;
}
