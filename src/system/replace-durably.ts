import { open, rename, rm } from 'node:fs/promises';

/**
 * Replaces a file as a whole, so that neither a reader nor a crash finds a part of it. `beside`: a path in the same directory, for
 * this writer alone, which is written first.
 */
export async function replaceDurably(path: string, beside: string, text: string): Promise<void> {
  try {
    // The directory may be open to others, whose link must not be followed.
    await rm(beside, { force: true });
    const file = await open(beside, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true }).catch(() => undefined);
    throw error;
  }
}
