import { existsSync, realpathSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** Finds the program of the master where the command that started this process is now. */
export class ProgramPath {
  readonly #command: string;
  /** From the directory of the command to the program of the master. */
  readonly #fromCommand: string;

  /** `command` is the path by which the command was called, which may be a link; `program` belongs to its target. */
  constructor(command: string, program: string) {
    this.#command = command;
    this.#fromCommand = relative(dirname(realpathSync(command)), program);
  }

  /** Returns the path of the last program, or of the one that is there now if the last one was removed. */
  nowOr(last: string): string {
    try {
      return existsSync(last) ? last : this.now();
    } catch {
      return last;
    }
  }

  /** Returns the path of the program. Throws if there is none now. */
  now(): string {
    const program = join(dirname(realpathSync(this.#command)), this.#fromCommand);
    if (!existsSync(program)) throw new Error(`"${program}" does not exist: restart needed`);
    if (!existsSync(process.execPath))
      throw new Error(`"${process.execPath}", which runs it, does not exist: restart needed`);
    return program;
  }
}
