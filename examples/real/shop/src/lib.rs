//! The catalog of a web shop.

use std::collections::HashMap;

use serde::Deserialize;
use tracking_alloc::Profiled;

/// All products.
#[derive(Debug, Deserialize)]
pub struct Catalog {
    /// The products, in the order of the file.
    pub products: Vec<Product>,
}

/// A product.
#[derive(Debug, Deserialize)]
pub struct Product {
    /// Its number.
    pub id: u64,
    /// The stock-keeping unit.
    pub sku: String,
    /// The title of its page.
    pub name: String,
    /// The description on its page.
    pub description: String,
    /// The price in euros.
    pub price: f64,
    /// Number of pieces in the warehouse.
    pub stock: u32,
    /// Material, origin and similar attributes.
    pub attributes: HashMap<String, String>,
    /// The reviews of customers.
    pub reviews: Vec<Review>,
    /// Words for the search.
    pub tags: Vec<String>,
}

/// The review of a customer.
#[derive(Debug, Deserialize)]
pub struct Review {
    /// The customer.
    pub user: String,
    /// Number of stars, at most five.
    pub stars: u8,
    /// The text of the review.
    pub text: String,
}

impl Catalog {
    /// Returns the value of everything in stock.
    pub fn worth(&self) -> f64 {
        let price = |product: &Product| product.price * f64::from(product.stock);
        self.products.iter().map(price).sum()
    }

    /// Returns the sum of the stars of all reviews.
    pub fn stars(&self) -> u64 {
        let reviews = self.products.iter().flat_map(|product| &product.reviews);
        reviews.map(|review| u64::from(review.stars)).sum()
    }

    /// Returns the number of products that contain a word anywhere, ignoring case.
    pub fn saying(&self, word: &str) -> usize {
        let says = |text: &String| text.to_lowercase().contains(word);
        let says_anywhere = |product: &&Product| {
            let texts = [&product.sku, &product.name, &product.description];
            let texts = texts.into_iter().chain(product.attributes.values());
            let texts = texts.chain(product.reviews.iter().map(|review| &review.text));
            texts.chain(&product.tags).filter(|text| says(text)).count() > 0
        };
        self.products.iter().filter(says_anywhere).count()
    }
}

/// Reads a catalog.
pub fn parse(text: &str) -> serde_json::Result<Catalog> {
    serde_json::from_str(text)
}

/// Reads a catalog and counts its bytes by field.
pub fn parse_profiled(text: &str) -> serde_json::Result<Catalog> {
    let Profiled(catalog) = serde_json::from_str(text)?;
    Ok(catalog)
}
