import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './run.mjs';

/** Returns what git and package.json say of the commit that is released. */
export async function readCommit(root) {
  const git = async (...args) => (await run('git', ['-C', root, ...args])).trim();
  const [commit = '', epoch = ''] = (await git('log', '-1', '--format=%H %ct')).split(' ');
  const tag = await git('describe', '--tags', '--abbrev=0').catch(() => undefined);
  return {
    commit,
    epoch: Number(epoch),
    maintainer: await git('log', '-1', '--format=%an <%ae>'),
    isDirty: (await git('status', '--porcelain')) !== '',
    distance: Number(await git('rev-list', '--count', tag === undefined ? 'HEAD' : `${tag}..HEAD`)),
    changelog: await git('show', 'HEAD:CHANGELOG.md'),
    version: JSON.parse(await git('show', 'HEAD:package.json')).version,
  };
}

/**
 * Returns the version that is released. A snapshot is `V-N+gCOMMIT`, N commits after the last tag. Throws if the tree has
 * changes that are not committed, or the changelog no date for the version, unless it is a snapshot.
 */
export function releasedVersion({ commit, isDirty, distance, changelog, version }, isSnapshot) {
  if (isSnapshot) return `${version}-${distance}+g${commit.slice(0, 9)}`;
  const heading = changelog.split('\n').find((line) => line.startsWith(`## ${version} (`));
  if (!/\(\d{4}-\d\d-\d\d\)$/.test(heading ?? ''))
    throw new Error(
      `CHANGELOG.md has no heading "## ${version} (YYYY-MM-DD)"${heading ? `, but "${heading}"` : ''}; --snapshot releases it without a date`,
    );
  if (isDirty)
    throw new Error(
      'the tree has changes that are not committed; --snapshot releases the last commit without them',
    );
  return version;
}

/**
 * Exports the commit into a directory, installs its packages and builds it. A snapshot takes the packages of the checkout
 * if both have the same lock file. Returns the commands.
 */
export async function buildCommit({ root, commit, version, isSnapshot }, directory) {
  mkdirSync(directory, { recursive: true });
  const archive = `${directory}.tar`;
  await run('git', ['-C', root, 'archive', '-o', archive, commit]);
  await run('tar', ['-xf', archive, '-C', directory]);
  if (isSnapshot) setVersion(directory, version);
  const text = (from) => readFileSync(join(from, 'package-lock.json'), 'utf8');
  const modules = join(root, 'node_modules');
  const commands = [`git archive ${commit}`];
  if (isSnapshot && existsSync(modules) && text(root) === text(directory)) {
    commands.push('the packages of the checkout');
    await run('cp', ['-al', modules, directory]).catch(() => run('cp', ['-a', modules, directory]));
  } else {
    commands.push('npm ci --prefer-offline');
    await run('npm', ['ci', '--prefer-offline'], { cwd: directory });
  }
  await run(process.execPath, ['bin/build/bundle.mjs'], { cwd: directory });
  return [...commands, 'node bin/build/bundle.mjs'];
}

/** Both places of the version; the tests hold them together. */
function setVersion(directory, version) {
  const replace = (name, pattern, text) => {
    const file = join(directory, name);
    writeFileSync(file, readFileSync(file, 'utf8').replace(pattern, text));
  };
  replace('package.json', /"version": "[^"]*"/, `"version": "${version}"`);
  replace('src/version.ts', /VERSION = '[^']*'/, `VERSION = '${version}'`);
}
