import { createZone, keepsZone, markDead } from '../zone/index.ts';
import type { ZoneDeclaration } from '../zone/index.ts';

/** The process's shared memory by name; content stays across reloads as long as name and size do. */
export class Zones {
  #buffers: ReadonlyMap<string, SharedArrayBuffer> = new Map();

  /** The zones of a new configuration; nothing changes until `commit`. */
  plan(declarations: readonly ZoneDeclaration[]): ReadonlyMap<string, SharedArrayBuffer> {
    return new Map(declarations.map((declaration) => [declaration.name, this.#bufferFor(declaration)]));
  }

  commit(buffers: ReadonlyMap<string, SharedArrayBuffer>): void {
    this.#buffers = buffers;
  }

  /** Frees every zone of what a dead worker held. */
  release(workerId: number): void {
    for (const buffer of this.#buffers.values()) markDead(buffer, workerId);
  }

  #bufferFor(declaration: ZoneDeclaration): SharedArrayBuffer {
    const known = this.#buffers.get(declaration.name);
    return known && keepsZone(known, declaration) ? known : createZone(declaration);
  }
}
