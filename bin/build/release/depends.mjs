import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './run.mjs';

/** Debian's package of a shared library, and the prefix of the symbol versions that are its own. */
const LIBRARIES = {
  libc6: { names: /^(libc|libm|libdl|libpthread|librt|ld-linux.*)\.so\.\d+$/, versions: 'GLIBC' },
  'libgcc-s1': { names: /^libgcc_s\.so\.1$/, versions: 'GCC' },
  'libstdc++6': { names: /^libstdc\+\+\.so\.6$/, versions: 'GLIBCXX' },
};

/** The first GCC whose libstdc++ has the symbols GLIBCXX_3.4.N (GCC manual, "ABI Policy and Guidelines"). */
const GCC_OF = { 21: '5', 22: '6', 23: '7', 24: '7', 25: '8', 26: '9', 27: '9', 28: '9', 29: '11', 30: '12' };

/** Returns the field `Depends` for the programs and libraries below a directory, by what `readelf` says of them. */
export async function dependsOf(directory) {
  const programs = readdirSync(directory, { recursive: true })
    .filter((name) => name.endsWith('.node') || name === 'bin/node')
    .map((name) => join(directory, name));
  // readelf, unlike objdump, reads the files of every architecture.
  const said = await Promise.all(programs.map((program) => run('readelf', ['-dV', program])));
  return dependsOn(said.join('\n'));
}

/** The same for the output of `readelf -dV`. Throws if a library belongs to none of the packages. */
export function dependsOn(said) {
  const needed = new Set([...said.matchAll(/\(NEEDED\).*\[(.+)\]/g)].map(([, library]) => library));
  const packages = Object.entries(LIBRARIES);
  for (const library of needed)
    if (!packages.some(([, { names }]) => names.test(library)))
      throw new Error(`no package is known for the library "${library}"`);
  const used = packages.filter(([, { names }]) => [...needed].some((library) => names.test(library)));
  return used.map(([name, { versions }]) => {
    const version = newest(said, versions);
    return version === undefined ? name : `${name} (>= ${packageVersion(versions, version)})`;
  });
}

function newest(said, prefix) {
  const found = [...said.matchAll(new RegExp(`Name: ${prefix}_([\\d.]+)`, 'g'))].map(
    ([, version]) => version,
  );
  return found.sort((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1);
}

function packageVersion(prefix, version) {
  if (prefix !== 'GLIBCXX') return version;
  const minor = Number(version.split('.')[2] ?? 0);
  const gcc = GCC_OF[Math.max(minor, 21)];
  if (gcc === undefined) throw new Error(`no version of GCC is known for GLIBCXX_${version}`);
  return gcc;
}
