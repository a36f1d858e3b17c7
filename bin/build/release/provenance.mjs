/**
 * Returns the provenance of the artifacts as an in-toto statement (https://in-toto.io/Statement/v1). `subjects` are
 * their names and SHA-256 hashes. It has no time and no names of this machine, so that a second run gives the same.
 */
export function provenance({
  commit,
  version,
  isSnapshot,
  repository,
  lockHash,
  wanted,
  subjects,
  commands,
}) {
  const source = repository === undefined ? {} : { uri: `git+${repository.replace(/^git\+/, '')}@${commit}` };
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: subjects.map(({ name, hash }) => ({ name, digest: { sha256: hash } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'urn:gw:npm-run-release:v1',
        externalParameters: { version, artifacts: wanted, snapshot: isSnapshot },
        internalParameters: {
          node: process.version,
          platform: `${process.platform}-${process.arch}`,
          commands,
        },
        resolvedDependencies: [
          { name: 'source', ...source, digest: { gitCommit: commit } },
          { name: 'package-lock.json', digest: { sha256: lockHash } },
        ],
      },
      runDetails: { builder: { id: 'urn:gw:release-script' } },
    },
  };
}
