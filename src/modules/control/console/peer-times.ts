import type { PeerView, UpstreamGroup } from '../../../upstream/index.ts';

const LOOK_MS = 2_000;

/** The times when peers last changed their states. Each worker observes the groups of its newest configuration. */
export class PeerTimes {
  #groups: readonly UpstreamGroup[] = [];
  #known: ReadonlyMap<string, { readonly state: PeerView['state']; readonly sinceMs?: number }> = new Map();
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  /** Observes these groups from now on. */
  use(groups: readonly UpstreamGroup[]): void {
    this.#groups = groups;
    this.#look();
  }

  /** Returns the time of the last change; `undefined` if there was none. */
  since(upstream: string, { address, state }: PeerView): number | undefined {
    const known = this.#known.get(`${upstream}\n${address}`);
    if (!known) return undefined;
    return known.state === state ? known.sinceMs : Date.now();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const nowMs = Date.now();
    const before = this.#known;
    this.#known = new Map(
      this.#groups.flatMap((group) =>
        group.view().map(({ address, state }) => {
          const key = `${group.name}\n${address}`;
          const known = before.get(key);
          if (known?.state === state) return [key, known] as const;
          return [key, known ? { state, sinceMs: nowMs } : { state }] as const;
        }),
      ),
    );
  }
}
