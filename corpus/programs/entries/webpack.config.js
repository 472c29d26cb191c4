// A loader of its own that works once for each file.
module.exports = {
  mode: "development",
  entry: "./http.js",
  target: "node",
  output: { path: `${__dirname}/out` },
  module: { rules: [{ test: /\.js$/, use: [`${__dirname}/webpack-loader.js`] }] },
};
