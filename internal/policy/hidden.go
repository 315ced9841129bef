package policy

// visibleDot are the dot entries that stay visible at the top of a granted
// directory: what build tools read and write, and nothing that carries a secret
// or steers a program outside.
var visibleDot = []string{
	".git", ".github", ".gitlab", ".gitignore", ".gitattributes", ".gitmodules",
	".editorconfig", ".venv", ".nvmrc", ".node-version", ".python-version",
	".ruby-version", ".tool-versions", ".dockerignore", ".prettier*", ".eslint*",
	".babelrc*", ".swcrc", ".stylelint*", ".clang-*", ".golangci.y*", ".rubocop.yml",
	".yarnrc.yml", ".pnp.*", ".gradle", ".rustfmt.toml", ".storybook", ".changeset",

	".next", ".nuxt", ".svelte-kit", ".turbo", ".parcel-cache", ".cache",
	".pytest_cache", ".mypy_cache", ".ruff_cache", ".tox", ".nox", ".hypothesis",
	".coverage*", ".nyc_output", ".terraform", ".dart_tool",
}

// secretDot are those that carry secrets: where one is a link, what it leads to is
// hidden as well.
var secretDot = []string{
	".env", ".env.*", ".netrc", ".npmrc", ".pypirc", ".git-credentials", ".aws", ".ssh", ".gnupg", ".kube", ".docker", ".config",
	".databrickscfg", ".pgpass",
}

// readOnlyDot are visible too, but nowhere writable: programs outside run what is
// in them at the next commit, cd or build.
var readOnlyDot = []string{".husky", ".pre-commit-config.yaml", ".mise.toml", ".cargo", ".mvn", ".yarn"}

// hiddenMax is how many entries of one directory are looked at before a start
// is refused.
const hiddenMax = 50000
