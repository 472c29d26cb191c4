module.exports = { experimental: { serverMinification: false }, eslint: { ignoreDuringBuilds: true } };
