import type { RemoteEntry, Subject } from '../../src/cluster/node/subject.ts';

/** What is said on one node the others hear. */
export class Talk implements Subject {
  readonly stream: string;
  readonly digest = '1';
  readonly history = 100;
  readonly position = undefined;
  readonly incarnation: string;
  readonly heard: string[] = [];
  /** How many words never left the node, as far as that was told. */
  lost = 0;
  #said: { readonly sequence: number; readonly fields: readonly string[] }[] = [];
  #sequence = 0;
  #listener: () => void = () => undefined;

  constructor(incarnation: string, stream = 'ev:talk') {
    this.incarnation = incarnation;
    this.stream = stream;
  }

  say(word: string): void {
    this.#said.push({ sequence: (this.#sequence += 1), fields: ['word', word] });
    this.#listener();
  }

  watch(listener: () => void): () => void {
    this.#listener = listener;
    return () => undefined;
  }

  take(): { entries: { sequence: number; fields: readonly string[] }[]; lost: number } {
    return { entries: this.#said.splice(0), lost: 0 };
  }

  accepts = (): boolean => true;
  acknowledged = (): void => undefined;
  tellGap = (): void => undefined;
  tellLost = (count: number): void => void (this.lost += count);

  apply(entries: readonly RemoteEntry[]): boolean {
    this.heard.push(...entries.map(({ fields }) => String(fields[1])));
    return true;
  }
}
